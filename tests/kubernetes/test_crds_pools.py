"""ResourcePools, as the API server and our reader judge them."""

import pytest

from admission import ITEM_SIZE, OUT_OF_RANGE, ask_reader, ask_server, at_least, matching, row
from apirequests import merged
from manifests import POOL


def pool(name, spec, *refusals, **more):
    return row(POOL, name, spec, *refusals, **more)


def selector(operator, *values):
    return {"allowedNamespaces": matching(operator, *values)}


ROWS = [
    pool("no more than brokers", {}),
    pool(
        "nothing",
        {"brokers": None, "clusterRef": None},
        "spec.brokers: Required value",
        "spec.clusterRef: Required value",
    ),
    pool(
        "ids and ranges", {"brokers": {"ranges": [{"from": 4, "to": 4}, {"from": 5, "to": 2004}]}}
    ),
    pool(
        "no broker",
        {"brokers": {"ids": None}},
        "spec.brokers: the pool names no broker; write ids or ranges",
    ),
    pool("an id twice", {"brokers": {"ids": [1, 1]}}, "spec.brokers.ids[1]: Duplicate value: 1"),
    pool(
        "a range that runs backwards",
        {"brokers": {"ranges": [{"from": 9, "to": 8}]}},
        "spec.brokers.ranges[0]: the range runs backwards; write the lower id first",
    ),
    pool(
        "a range of too many",
        {"brokers": {"ranges": [{"from": 10, "to": 2010}]}},
        "spec.brokers.ranges[0]: a range has at most 2000 brokers",
    ),
    pool(
        "a broker in two ranges",
        {"brokers": {"ranges": [{"from": 4, "to": 6}, {"from": 6, "to": 8}]}},
        "spec.brokers.ranges: a broker is in two ranges; name it once",
    ),
    pool(
        "a broker in ids and a range",
        {"brokers": {"ranges": [{"from": 3, "to": 5}]}},
        "spec.brokers.ids: a broker is in ids and in a range; name it once",
    ),
    pool(
        "members drained and demoted",
        {
            "brokers": {"ranges": [{"from": 10, "to": 12}]},
            "drain": [3, 10],
            "demote": [1, 12],
            "drainLogDirs": [{"broker": 11, "path": "/d1"}, {"broker": 11, "path": "/d2"}],
        },
    ),
    pool(
        "others drained and demoted",
        {"drain": [1, 4], "demote": [0], "drainLogDirs": [{"broker": 5, "path": "/d"}]},
        "spec.demote: demote names a broker that is not in the pool; see spec.brokers",
        "spec.drain: drain names a broker that is not in the pool; see spec.brokers",
        "spec.drainLogDirs: drainLogDirs names a broker that is not in the pool; see spec.brokers",
    ),
    pool(
        "a log directory twice",
        {"drainLogDirs": [{"broker": 1, "path": "/d"}, {"broker": 1, "path": "/d"}]},
        'spec.drainLogDirs[1]: Duplicate value: {"broker":1,"path":"/d"}',
    ),
    pool(
        "a log directory that is no path",
        {"drainLogDirs": [{"broker": 1, "path": "d"}]},
        "spec.drainLogDirs[0].path: spec.drainLogDirs[0].path in body should match '^/.*$'",
    ),
    pool("as many replicas as brokers", {"drain": [1], "defaults": {"replicationFactor": 2}}),
    pool(
        "more replicas than brokers",
        {"drain": [1], "defaults": {"replicationFactor": 3}},
        "spec.defaults.replicationFactor: defaults.replicationFactor is more than the brokers "
        "that are not drained",
    ),
    pool(
        "replicas on ranges",
        {"brokers": {"ranges": [{"from": 4, "to": 9}]}, "defaults": {"replicationFactor": 9}},
    ),
    pool("a capacity", {"capacity": {"weight": 0.5, "disk": 4398046511104, "replicas": 4000}}),
    pool(
        "a capacity of nothing",
        {"capacity": {"weight": 0, "disk": "0", "replicas": 0}},
        f"spec.capacity.disk: {OUT_OF_RANGE}",
        at_least(1, "spec.capacity.replicas"),
        "spec.capacity.weight: a weight is more than 0; to empty a broker, drain it",
    ),
    pool(
        "racks by what is no id",
        {"racks": {"x": "a"}},
        offline_differs="keys of a map have no greatest length, so no rule may look at them",
    ),
    pool(
        "a broker in two overrides",
        {"capacity": {"overrides": [{"ids": [1]}, {"ids": [1]}]}},
        offline_differs="lists of lists against each other cost more than a rule may",
    ),
    pool("disks of some", {"capacity": {"overrides": [{"ids": [1], "disk": "1.5Ti"}]}}),
    pool(
        "no disk of some",
        {"capacity": {"overrides": [{"ids": [1], "disk": 0}, {"ids": [2], "disk": "0Ti"}]}},
        at_least(1, "spec.capacity.overrides[0].disk"),
        f"spec.capacity.overrides[1].disk: spec.capacity.overrides[1].disk {ITEM_SIZE}",
    ),
    pool(
        "a claim that is no regular expression",
        {"claims": ["a(b"]},
        offline_differs="a rule cannot ask whether text is a regular expression",
    ),
    pool("namespaces by name, even none", {"allowedNamespaces": {"names": []}}),
    pool("all namespaces by label", {"allowedNamespaces": {"selector": {}}}),
    pool("some namespaces by label", selector("In", "shop", "pay")),
    pool("some namespaces by what is not there", selector("DoesNotExist")),
    pool(
        "namespaces by nothing",
        {"allowedNamespaces": {}},
        "spec.allowedNamespaces: allowedNamespaces names none; "
        "write names or a selector, or leave it out",
    ),
    *(
        pool(
            f"a selector that says {words[0]} and {len(words) - 1} values",
            selector(*words),
            "spec.allowedNamespaces.selector.matchExpressions[0]: "
            "In and NotIn need values, Exists and DoesNotExist take none",
        )
        for words in (("In",), ("NotIn",), ("Exists", "a"), ("DoesNotExist", "a"))
    ),
    pool("bands", {"balance": {"replicas": {"percent": 0}, "leaders": {"count": 1}}}),
    pool(
        "a band of two kinds and one of none",
        {"balance": {"replicas": {"percent": 5, "count": 1}, "bytes": {}}},
        "spec.balance.bytes: exactly one of percent and count is needed",
        "spec.balance.replicas: exactly one of percent and count is needed",
    ),
    pool(
        "quotas of nothing", {"quotas": {"topics": 0, "perNamespace": {"shop": {"partitions": 0}}}}
    ),
    pool(
        "a domain that does not fail",
        {"headroom": {"domain": "Zone", "failures": -1}},
        'spec.headroom.domain: supported values: "Broker", "Rack"',
        at_least(0, "spec.headroom.failures"),
    ),
]


@pytest.mark.parametrize("row", ROWS)
def test_creations(api, row):
    ask_server(api, row)


@pytest.mark.parametrize("row", ROWS)
def test_our_reader_comes_to_the_same_verdict(row):
    ask_reader(row)


@pytest.mark.parametrize("brokers", [100, 2000])
def test_a_big_pool_is_not_refused_for_its_size(api, brokers):
    """A rule that costs too much while it runs is refused like one that does not hold."""
    ids = list(range(brokers))
    ranges = [{"from": first, "to": first + 9} for first in range(10_000, 11_000, 10)]
    lists = {"ids": ids, "ranges": ranges}
    spec = {"brokers": lists, "drain": ids, "demote": ids, "defaults": {"replicationFactor": 3}}
    assert api.dry_create(merged(POOL, {"spec": spec})).refusals() == []
