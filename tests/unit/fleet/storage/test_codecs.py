import json

import pytest
from hypothesis import given

from builders import cluster_spec, pool_spec
from laws import examples
from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import codecs
from poolkeeper.model.desired import Claim, Desired, WatchedNamespaces
from poolkeeper.model.execution.records import BrokerRecord, Records, TopicRecord
from poolkeeper.model.specs import (
    AllowedNamespaces,
    Capacity,
    DeletionPolicy,
    FailureDomain,
    Headroom,
    LoadSource,
    Quotas,
    SourceLocation,
    Strategy,
    TopicSpec,
    Window,
)
from unit.planning.instances import instances

POOL = pool_spec(
    "fast",
    1,
    2,
    racks={1: "a"},
    drain=frozenset({2}),
    capacity_of={2: Capacity(weight=2.0, disk_bytes=1 << 40)},
    headroom=Headroom(FailureDomain.RACK, 1),
    quotas=Quotas(3, per_namespace={"shop": Quotas(partitions=1)}),
    allowed_namespaces=AllowedNamespaces(("shop",), {"matchLabels": {"a": "b"}}),
)
TOPIC = TopicSpec(
    "orders",
    "shop",
    "shop.orders",
    "fast",
    config={"retention.ms": "1"},
    strategy=Strategy.MANUAL,
    assignment=((1, 2), (2, 1)),
)
CLUSTER = cluster_spec(load=LoadSource("Prometheus", {"url": "http://p", "window": "1h"}))
DESIRED = Desired(
    CLUSTER,
    (POOL,),
    (TOPIC,),
    held=frozenset({Claim("b", "x/b"), Claim("a", "x/a")}),
    watched=WatchedNamespaces(frozenset({"x"})),
)
RECORDS = Records(
    "id",
    {"t": TopicRecord("x/t", ("retention.ms",), DeletionPolicy.DELETE, released=True)},
    {1: BrokerRecord("a", 5)},
)


@examples(30)
@given(instances())
def test_what_is_declared_comes_back_equal(instance):
    desired = instance[0]
    text = codecs.to_text(desired)
    assert codecs.from_text(Desired, text) == desired
    assert codecs.to_text(codecs.from_text(Desired, text)) == text


@pytest.mark.parametrize("value", [DESIRED, RECORDS], ids=["desired", "records"])
def test_every_kind_of_field_comes_back_equal(value):
    assert codecs.from_text(type(value), codecs.to_text(value)) == value


def test_the_text_is_canonical_and_holds_no_defaults():
    spec = cluster_spec(connect="zk", source=SourceLocation("a.yaml", 3), unmanaged_topics="Manage")
    text = (
        '{"value":{"cluster":{"name":"main","unmanaged_topics":"Manage",'
        '"zookeeper":{"connect":"zk"}}},"version":1}'
    )
    assert codecs.to_text(Desired(spec)) == text
    assert codecs.from_text(Desired, text).cluster.execution.windows == ()


def test_windows_and_their_like_are_values_again():
    window = Window("0 22 * * *", 60)
    text = codecs.to_text(window)
    assert codecs.from_text(Window, text) == window


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            {"version": 2},
            f"specs have version 2 (expected 1): {codecs.ONE_RELEASE}",
            id="version",
        ),
        pytest.param(
            {"value": {"cluster": {"name": "m", "zookeeper": {"connect": "z"}, "law": 1}}},
            f"specs have KafkaClusterSpec.law, which is unknown here: {codecs.ONE_RELEASE}",
            id="field-of-a-later-release",
        ),
        pytest.param(
            {"value": {"cluster": {"name": "m", "zookeeper": {"connect": "z"}, "mode": "Dream"}}},
            f"specs of a fleet cannot be read: ValueError(\"'Dream' is not a valid Mode\");"
            f" {codecs.ONE_RELEASE}",
            id="value-of-a-later-release",
        ),
        pytest.param({"value": {}}, "specs of a fleet cannot be read", id="field-missing"),
    ],
)
def test_what_cannot_be_read_is_refused(change, message):
    body = json.loads(codecs.to_text(DESIRED)) | change
    with pytest.raises(Refused) as refused:
        codecs.from_text(Desired, json.dumps(body))
    assert str(refused.value).startswith(message)


def test_a_digest_tells_where_texts_end():
    assert codecs.digest("ab", "c") != codecs.digest("a", "bc")
    assert codecs.digest("ab") == codecs.digest("ab")
