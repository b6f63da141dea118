"""Policies for what tenants do: names of topics, and topics that go."""

import pytest

from admission import ANY, denial
from apirequests import merged
from conditions import until
from manifests import TOPIC


def topic_in(namespace, spec):
    return merged(TOPIC, {"metadata": {"namespace": namespace}, "spec": spec})


@pytest.mark.parametrize(
    ("prefixes", "name", "expected"),
    [
        pytest.param(None, "{namespace}.orders", "", id="the-namespace-and-a-dot"),
        pytest.param(None, "{namespace}-eu.orders", "{namespace}.", id="a-longer-namespace"),
        pytest.param(None, "{namespace}_orders", "{namespace}.", id="an-underscore"),
        pytest.param(None, "{namespace}orders", "{namespace}.", id="the-namespace-and-no-dot"),
        pytest.param(None, None, "{namespace}.", id="no-prefix"),
        pytest.param("shop-", "shop-orders", "", id="a-prefix-without-a-dot"),
        pytest.param("shop-", "shop-eu.orders", "shop-", id="a-name-of-a-longer-namespace"),
        pytest.param("shop", "shop-eu.orders", "shop", id="a-prefix-that-ends-in-a-letter"),
        pytest.param("shop_", "shop_eu.orders", "", id="no-namespace-has-an-underscore"),
        pytest.param("shop., web-", "web-orders", "", id="the-second-of-two-prefixes"),
        pytest.param("shop., web-", "{namespace}.orders", "shop. or web-", id="none-of-two"),
        pytest.param("*", "orders", "", id="any-name"),
        pytest.param("", "orders", "", id="no-name-at-all"),
    ],
)
def test_topics_have_a_prefix_of_their_namespace(edna, team, prefixes, name, expected):
    said = {} if prefixes is None else {"poolkeeper.dev/topic-prefixes": prefixes}
    namespace = team({"annotations": said})
    name = name and name.format(namespace=namespace)
    answer = edna.dry_create(topic_in(namespace, {"topicName": name}))
    if not expected and prefixes != "":
        assert answer.refusals() == []
        return
    allowed = expected.format(namespace=namespace)
    text = (
        f"topic {name or 'orders'} does not begin with {allowed}: choose another spec.topicName, "
        "or ask the platform team for a prefix (annotation poolkeeper.dev/topic-prefixes of "
        f"namespace {namespace})"
    )
    assert answer.message.endswith(denial("topic-prefixes", text))


def test_topics_from_before_a_prefix_stay_editable(admin, edna, team):
    namespace = team(ANY)
    body = admin.create(topic_in(namespace, {}))
    said = {"metadata": {"annotations": {"poolkeeper.dev/topic-prefixes": "shop."}}}
    patch = "application/merge-patch+json"
    admin.send("PATCH", f"/api/v1/namespaces/{namespace}", said, patch)
    fresh = topic_in(namespace, {"topicName": "y"})
    until(lambda: edna.dry_create(fresh).status == 403, "the server saw the annotation")
    assert edna.patch(body, {"spec": {"paused": True}}).refusals() == []


@pytest.mark.parametrize(
    ("labels", "name", "is_taken"),
    [
        pytest.param({}, "orders_", True, id="another-name"),
        pytest.param({}, "_schemas", False, id="a-name-of-a-service"),
        pytest.param(
            {"poolkeeper.dev/protected-topics": "allowed"},
            "_schemas",
            True,
            id="in-their-namespace",
        ),
        pytest.param(
            {"poolkeeper.dev/protected-topics": "no"}, "_schemas", False, id="in-no-such-namespace"
        ),
    ],
)
def test_names_of_services_are_protected(edna, team, labels, name, is_taken):
    namespace = team({**ANY, "labels": labels})
    answer = edna.dry_create(topic_in(namespace, {"topicName": name}))
    text = (
        f"topic {name} is protected, as its name begins with _: choose another spec.topicName, or "
        f"ask the platform team to label namespace {namespace} with "
        "poolkeeper.dev/protected-topics=allowed"
    )
    if is_taken:
        assert answer.refusals() == []
    else:
        assert answer.message.endswith(denial("protected-topics", text))


DELETION = {"poolkeeper.dev/topic-deletion": "allowed"}


@pytest.mark.parametrize(
    ("labels", "before", "after", "is_taken"),
    [
        pytest.param({}, None, "Retain", True, id="made-to-stay"),
        pytest.param({}, None, "Delete", False, id="made-to-go"),
        pytest.param(DELETION, None, "Delete", True, id="made-to-go-where-that-is-allowed"),
        pytest.param({}, "Retain", "Delete", False, id="to-go-from-now-on"),
        pytest.param(DELETION, "Retain", "Delete", True, id="to-go-where-that-is-allowed"),
        pytest.param({}, "Delete", "Delete", True, id="to-go-as-before"),
        pytest.param({}, "Delete", "Retain", True, id="to-stay-from-now-on"),
    ],
)
def test_topics_go_only_where_that_is_allowed(admin, edna, team, labels, before, after, is_taken):
    namespace = team({**ANY, "labels": {**labels, **(DELETION if before == "Delete" else {})}})
    if before is None:
        answer = edna.dry_create(topic_in(namespace, {"deletionPolicy": after}))
    else:
        body = admin.create(topic_in(namespace, {"deletionPolicy": before}))
        if labels != DELETION:
            _take_label_off(admin, namespace)
        answer = edna.patch(body, {"spec": {"deletionPolicy": after, "paused": True}})
    text = (
        "deletionPolicy Delete is not allowed here: leave it at Retain, or ask the platform team "
        f"to label namespace {namespace} with poolkeeper.dev/topic-deletion=allowed"
    )
    if is_taken:
        assert answer.refusals() == []
    else:
        assert answer.message.endswith(denial("topic-deletion", text))


def _take_label_off(admin, namespace):
    off = {"metadata": {"labels": dict.fromkeys(DELETION)}}
    admin.send("PATCH", f"/api/v1/namespaces/{namespace}", off, "application/merge-patch+json")
    probe = topic_in(namespace, {"topicName": "x", "deletionPolicy": "Delete"})
    until(lambda: admin.dry_create(probe).status == 403, "the server saw the label go")
