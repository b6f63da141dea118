"""What is kept until we are done with it, and when it is let go."""

import pytest

from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.finalizers import finalizer_changes, finalizers_needed
from poolkeeper.resources.status.status_inputs import status_inputs_of
from unit.resources.bodies import kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.stages import seen

MAIN = kafka_cluster(mode="Apply")
FAST = pool("fast", 1, 2)
GOING = topic("orders", "fast", deletionPolicy="Delete", deleting=True, guarded=True)
RIVAL = topic("orders", "fast", namespace="bank")
OURS = seen(kafka([kafka_topic("orders", (1, 2))]), orders="shop/orders")
THEIRS = seen(kafka([kafka_topic("orders", (1, 2))]), orders="bank/orders")
CLOSED = pool("closed", 1, 2, allowedNamespaces={"names": ["shop"]})
STRANGER = topic("mine", "closed", namespace="evil")
BROKEN = topic("mine", "closed", namespace="evil", keyed="maybe")
TENANT = topic("mine", "closed", namespace="bank", status={"pool": "closed"})
UNRECORDED = seen(kafka([kafka_topic("orders", (1, 2))]))
EMPTY = seen(kafka(), orders="shop/orders")


def wanted(
    each: CustomResource, objects: tuple[CustomResource, ...], what: LastObservation | None
) -> bool:
    place = next(a for a in assemble((*objects, each)).values() if each.key in a.objects)
    return finalizers_needed(status_inputs_of(place, what), None)[each.key]


@pytest.mark.parametrize(
    ("each", "others", "what", "expected"),
    [
        pytest.param(
            topic("orders", "fast", deletionPolicy="Delete"), (MAIN, FAST), OURS, True, id="delete"
        ),
        pytest.param(topic("orders", "fast", guarded=True), (MAIN, FAST), OURS, False, id="retain"),
        pytest.param(GOING, (MAIN, FAST), OURS, True, id="until-its-kafka-topic-is-gone"),
        pytest.param(GOING, (MAIN, FAST), EMPTY, False, id="its-kafka-topic-is-gone"),
        pytest.param(GOING, (MAIN, FAST), THEIRS, False, id="a-loser-deletes-nothing"),
        pytest.param(GOING, (MAIN, FAST), UNRECORDED, False, id="it-was-never-recorded"),
        pytest.param(GOING, (MAIN, FAST, RIVAL), OURS, False, id="another-declares-it"),
        pytest.param(GOING, (MAIN, FAST), None, True, id="nobody-can-look"),
        pytest.param(GOING, (MAIN,), OURS, False, id="its-pool-is-gone"),
        pytest.param(GOING, (FAST,), OURS, False, id="its-cluster-is-gone"),
        pytest.param(
            GOING,
            (kafka_cluster(deleting=True), FAST),
            OURS,
            False,
            id="its-cluster-is-being-deleted",
        ),
        pytest.param(
            GOING,
            (MAIN, FAST, pool("broken", 1, drain=[5])),
            OURS,
            True,
            id="its-cluster-is-held",
        ),
        pytest.param(
            topic(
                "orders",
                "fast",
                deletionPolicy="Delete",
                deleting=True,
                guarded=True,
                keyed="maybe",
            ),
            (MAIN, FAST),
            OURS,
            False,
            id="it-is-wrong-and-being-deleted",
        ),
        pytest.param(
            topic("orders", "fast", guarded=True, keyed="maybe"),
            (MAIN, FAST),
            OURS,
            True,
            id="what-is-wrong-stays-as-it-is",
        ),
        pytest.param(FAST, (MAIN, GOING), OURS, True, id="a-pool-that-a-topic-names"),
        pytest.param(FAST, (MAIN,), OURS, False, id="a-pool-that-no-topic-names"),
        pytest.param(CLOSED, (MAIN, STRANGER), OURS, False, id="a-pool-that-does-not-admit-it"),
        pytest.param(CLOSED, (MAIN, STRANGER), None, False, id="nobody-can-look-whom-it-admits"),
        pytest.param(CLOSED, (STRANGER,), OURS, False, id="whom-it-does-not-admit-anywhere"),
        pytest.param(CLOSED, (MAIN, BROKEN), OURS, False, id="nor-one-that-is-invalid"),
        pytest.param(CLOSED, (MAIN, TENANT), OURS, True, id="a-topic-that-lives-in-it"),
    ],
)
def test_a_resource_is_kept(
    each: CustomResource,
    others: tuple[CustomResource, ...],
    what: LastObservation | None,
    expected: bool,
) -> None:
    assert wanted(each, others, what) is expected


@pytest.mark.parametrize(
    ("each", "others", "expected"),
    [
        pytest.param(GOING, (MAIN, FAST), False, id="a-topic-that-goes-with-its-definition"),
        pytest.param(
            topic("orders", "fast", deletionPolicy="Delete"),
            (MAIN, FAST),
            True,
            id="a-topic-that-stays",
        ),
        pytest.param(
            pool("fast", 1, 2, deleting=True, guarded=True),
            (MAIN, GOING),
            False,
            id="a-pool-that-goes",
        ),
        pytest.param(FAST, (MAIN, GOING), True, id="a-pool-that-stays"),
    ],
)
def test_nothing_is_kept_that_goes_with_its_definition(
    each: CustomResource, others: tuple[CustomResource, ...], expected: bool
) -> None:
    places = assemble((*others, each), abandoned="definitions are being removed").values()
    place = next(a for a in places if each.key in a.objects)
    assert finalizers_needed(status_inputs_of(place, OURS), None)[each.key] is expected


@pytest.mark.parametrize(
    ("guarded", "recorded", "expected"),
    [
        (False, True, True),
        (True, False, False),
        (True, None, True),
        (False, None, False),
    ],
)
def test_a_cluster_is_kept_while_a_run_is_recorded(
    guarded: bool, recorded: bool | None, expected: bool
) -> None:
    cluster = kafka_cluster(guarded=guarded)
    found = status_inputs_of(assemble([cluster])["main"], EMPTY)
    assert finalizers_needed(found, recorded) == {cluster.key: expected}


def test_only_changes_are_told_and_nothing_is_added_to_what_is_being_deleted() -> None:
    late = topic("orders", "fast", deletionPolicy="Delete", deleting=True)
    kept = topic("kept", "fast", deletionPolicy="Delete", guarded=True)
    new = topic("new", "fast", deletionPolicy="Delete")
    loose = topic("loose", "fast", guarded=True)
    fast = pool("fast", 1, 2, guarded=True)
    found = status_inputs_of(assemble([MAIN, fast, late, kept, new, loose])["main"], OURS)
    assert finalizer_changes(found, None) == {new.key: True, loose.key: False}
