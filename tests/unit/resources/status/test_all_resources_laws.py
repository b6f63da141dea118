"""Laws of statuses over random clusters, resources, plans and runs.

Whatever is told: Ready is there; it is never True beside another condition; one of Reconciling and
Stalled at most; every condition names the generation and a CamelCase reason; and what was written
is written again only when something changed. The definitions in `crds/` know every field of it.
"""

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from laws import examples
from poolkeeper.errors import HolderActive, OtherCluster, Refused, Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import LastObservation, Outcome, State
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Approval, ApprovalPolicy, DeletionPolicy, Mode, TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.parse import schemas
from poolkeeper.resources.status.all_resources import statuses
from poolkeeper.resources.status.events import status_events
from poolkeeper.resources.status.finalizers import finalizer_changes
from poolkeeper.resources.status.status_inputs import status_inputs_of
from unit.planning.instances import instances
from unit.resources.bodies import kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.differences import changed
from unit.resources.stages import LATER_MS, NOW_MS, at_rest, planned, running

CAMEL = re.compile(r"[A-Z][A-Za-z]+")
MOMENTS = (
    "2023-11-14T22:13:20Z",
    "2023-11-14t22:13:20.123456789z",
    "2023-11-14T22:13:20+99:99",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
)
"""What the API server takes for a time."""


def resources(
    desired: Desired, deleting: frozenset[str], wrong: frozenset[str]
) -> list[CustomResource]:
    """The custom resources of what is declared; some being deleted, some Topics unreadable."""

    def resource(kind: str, namespace: str, name: str, spec: Any, refers: str) -> CustomResource:
        bad = kind == "Topic" and name in wrong
        return CustomResource(
            kind=kind,
            namespace=namespace,
            name=name,
            uid=name,
            generation=2,
            deleting=name in deleting,
            finalizers=(),
            spec=None if bad else spec,
            refers="nowhere" if bad else refers,
        )

    return [
        resource("KafkaCluster", "", "main", desired.cluster, ""),
        *(resource("ResourcePool", "", p.name, p, "main") for p in desired.pools),
        *(resource("Topic", t.namespace, t.name, t, t.pool) for t in desired.topics),
    ]


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[CustomResource], LastObservation | None, Outcome]:
    """Resources, what was seen, and the outcome of a pass."""
    desired, cluster, gone = draw(instances())
    cluster_spec = replace(
        desired.cluster,
        mode=draw(st.sampled_from(Mode)),
        approval=Approval(draw(st.sampled_from(ApprovalPolicy))),
    )
    topics = [
        replace(each, deletion_policy=draw(st.sampled_from(DeletionPolicy)))
        for each in desired.topics
    ]
    if topics and draw(st.booleans()):
        topics.append(replace(topics[0], namespace="bank"))
    names = [each.name for each in topics] or ["none"]
    some = st.sets(st.sampled_from([*names, "fast", "main"]), max_size=1)
    objects = resources(
        Desired(cluster_spec, desired.pools, tuple(topics)),
        frozenset(draw(some)),
        frozenset(draw(st.sets(st.sampled_from(names), max_size=1))),
    )
    owners = {
        each.topic: TopicRecord(each.owner, tuple(each.config))
        for each in topics
        if draw(st.booleans())
    }
    seen = LastObservation(cluster, Records("c1", owners), gone)
    return objects, *draw(_outcomes(assemble(objects)["main"], seen))


@st.composite
def _outcomes(
    draw: st.DrawFn, assembly: Assembly, seen: LastObservation
) -> tuple[LastObservation | None, Outcome]:
    kind = draw(st.sampled_from(["away", "rest", "run", "no plan"]))
    if kind == "away" or assembly.desired is None:
        errors = [Unavailable("x"), OtherCluster("y"), HolderActive("z"), Refused("w"), None]
        error = draw(st.sampled_from(errors))
        return draw(st.sampled_from([None, seen])), Outcome(State.WAITING, error=error)
    waits = draw(st.sampled_from([(), (Wait(WaitReason.OUTSIDE_WINDOW, until="tomorrow"),)]))
    if kind == "no plan":
        return seen, Outcome(State.WAITING, waits=waits, last_observation=seen)
    if kind == "rest":
        return seen, at_rest(assembly, seen, *waits)
    whole = len(planned(assembly, seen).moves)
    found = running(assembly, seen, draw(st.integers(0, whole)))
    return seen, replace(found, fresh=draw(st.sampled_from([found.fresh, None])))


@examples(8)
@given(situations())
def test_statuses_are_sound_and_a_fixpoint(
    situation: tuple[list[CustomResource], LastObservation | None, Outcome],
) -> None:
    objects, seen, outcome = situation
    for name in assemble(objects):
        what = seen if name == "main" else None
        before = assemble(objects)[name]
        found = statuses(before, what, outcome, NOW_MS)
        assert found.keys() == before.objects.keys()
        for key, status in found.items():
            _check(status)
            assert list(_schema(key.kind).iter_errors(status)) == []
        written = [replace(o, status=found.get(o.key, o.status)) for o in objects]
        after = assemble(written)[name]
        again = statuses(after, what, outcome, LATER_MS)
        assert changed(after, again) == {}
        for key, status in found.items():
            assert status_events(key, status, again[key]) == ()


@examples(8)
@given(situations())
def test_no_pool_is_in_place_while_its_topics_move_or_wait_for_a_plan(
    situation: tuple[list[CustomResource], LastObservation | None, Outcome],
) -> None:
    objects, what, outcome = situation
    place = assemble(objects)["main"]
    found = statuses(place, what, outcome, NOW_MS)
    ready = {key: each["conditions"][0] for key, each in found.items()}
    done = {key.name for key, each in ready.items() if each["status"] == "True"}
    planned_now = outcome.plan if outcome.progress is None else outcome.fresh
    for each in objects:
        told = ready.get(each.key, {"reason": ""})["reason"]
        if isinstance(each.spec, TopicSpec) and told == "Moving":
            assert each.spec.pool not in done
        if isinstance(each.spec, TopicSpec) and planned_now is None and told == "Waiting":
            standing = status_inputs_of(place, what).standings.topics.get(each.spec.topic)
            assert standing is None or not standing.misplaced or each.spec.pool not in done


@examples(4)
@given(situations(), st.data())
def test_what_somebody_else_wrote_into_a_status_stops_nothing(
    situation: tuple[list[CustomResource], LastObservation | None, Outcome], data: st.DataObject
) -> None:
    """All that a definition takes is possible: others may have the right to write statuses."""
    objects, what, outcome = situation
    live = [replace(each, status=data.draw(_foreign(_status_of(each.kind)))) for each in objects]
    found = statuses(assemble(live)["main"], what, outcome, NOW_MS)
    for each in live:
        if each.key in found:
            _check(found[each.key])
            status_events(each.key, each.status, found[each.key])


def _status_of(kind: str) -> dict[str, Any]:
    whole = schemas.definition(f"{kind.lower()}s")["spec"]["versions"][0]["schema"]
    found: dict[str, Any] = whole["openAPIV3Schema"]["properties"]["status"]
    return found


def _foreign(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a schema of ours: every field may be missing that is not required."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            fields = {name: _foreign(each) for name, each in schema.get("properties", {}).items()}
            needed = {name: fields.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(needed, optional=fields)
        case "array":
            key = schema.get("x-kubernetes-list-map-keys")
            one = (lambda item: tuple(item.get(name) for name in key)) if key else None
            return st.lists(_foreign(schema["items"]), max_size=2, unique_by=one)
        case "string" if schema.get("format") == "date-time":
            return st.sampled_from(MOMENTS)
        case "string":
            words = ["Ready", "Stalled", "Moving", "InPlace", "2023-11-14T22:13:20Z"]
            return st.sampled_from(words)
        case "boolean":
            return st.booleans()
        case _:
            return st.integers(schema.get("minimum", 0), 5)


@functools.cache
def _schema(kind: str) -> Draft4Validator:
    """What the API server would take: closed, as it drops what it does not know."""
    return Draft4Validator(schemas.prepare_schema(_status_of(kind)))


def _check(status: dict[str, Any]) -> None:
    found = {each["type"]: each for each in status["conditions"]}
    assert status["observedGeneration"] == 2
    assert len(found) == len(status["conditions"])
    others = found.keys() - {"Ready"}
    assert others <= {"Reconciling", "Stalled"}
    assert len(others) == (found["Ready"]["status"] != "True")
    assert all(found[other]["status"] == "True" for other in others)
    for each in found.values():
        assert CAMEL.fullmatch(each["reason"])
        assert each["message"]
        assert "None" not in each["message"]
        assert each["observedGeneration"] == 2
        assert (each["reason"], each["message"]) == (
            found["Ready"]["reason"],
            found["Ready"]["message"],
        )


@examples(8)
@given(situations())
def test_finalizers_come_to_rest(
    situation: tuple[list[CustomResource], LastObservation | None, Outcome],
) -> None:
    objects, seen, _ = situation
    place = assemble(objects)["main"]
    changes = finalizer_changes(status_inputs_of(place, seen), False)
    guarded = [
        replace(o, finalizers=("poolkeeper.dev/finalizer",) if changes.get(o.key) else ())
        for o in objects
    ]
    assert finalizer_changes(status_inputs_of(assemble(guarded)["main"], seen), False) == {}


def _calls(work: Callable[[], object]) -> int:
    """How many calls of functions, ours and C's, a piece of work makes."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def _many(topics: int) -> tuple[list[CustomResource], Cluster]:
    objects = [
        kafka_cluster(mode="Apply", unmanagedTopics="EvacuateOnly"),
        pool("fast", 1, 2, 3, allowedNamespaces={"selector": {}}),
        *(topic(f"t{n}", "fast", config={"segment.ms": "60000"}) for n in range(topics)),
        *(topic(f"lost{n}", "nowhere") for n in range(topics // 2)),
        *(topic(f"t{n}", "fast", namespace="bank") for n in range(topics // 2)),
    ]
    live = kafka([kafka_topic(f"t{n}", (1, 2), (2, 3)) for n in range(topics)])
    return objects, live


@pytest.mark.slow
def test_twice_the_topics_are_twice_the_work() -> None:
    def work(topics: int) -> int:
        objects, live = _many(topics)
        records = Records("c1", {f"t{n}": TopicRecord(f"shop/t{n}") for n in range(topics)})
        seen = LastObservation(live, records)
        place = assemble(objects)["main"]
        outcome = at_rest(place, seen)
        statuses(place, seen, outcome, NOW_MS)  # what is cached once is no growth
        return _calls(lambda: statuses(assemble(objects)["main"], seen, outcome, NOW_MS))

    assert work(200) <= 2.2 * work(100)
