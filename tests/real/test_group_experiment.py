"""The article's experiment on real brokers with Kafka's own consumers: one leaves and returns.

`whatif consumers` says of each event who reads what then: it must be so in every second in which
nothing changes. How long partitions have no reader is measured, eager beside cooperative. The
article measured the rate of each consumer and named no figures for that: sticky changed them least
and most gently, range and round robin most.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from matrices import soak
from poolkeeper.algorithms.assignors.group import Assignment, Assignor, GroupMember, GroupTopic
from poolkeeper.algorithms.groups import offsets_partition
from poolkeeper.brokers.consumer_groups import ObservedGroup
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.servers import artifacts
from poolkeeper.studies.group_coordinators import OFFSETS_TOPIC, ListedGroup
from poolkeeper.studies.group_events import StudiedGroup
from poolkeeper.studies.group_rebalances import Settled, is_eager, settle
from real.group_experiments import Experiment, Said, unowned_ms
from real.support import create, declare, run, seen

TOPICS = {"b4-t0": 4, "b4-t1": 4, "b4-t2": 5}
SUBSCRIBED = {"C0": ("b4-t0",), "C1": ("b4-t0", "b4-t1"), "C2": ("b4-t0", "b4-t1", "b4-t2")}
CLASSES = {
    Assignor.RANGE: "RangeAssignor",
    Assignor.ROUND_ROBIN: "RoundRobinAssignor",
    Assignor.STICKY: "StickyAssignor",
    Assignor.COOPERATIVE_STICKY: "CooperativeStickyAssignor",
    Assignor.STICKY_2_2: "StickyAssignor",
}
OLD_CLIENTS = "2.2.2"
"""Kafka's own consumers of the release whose sticky assignor is another."""
STABLE_S = 3
ASSIGNORS = [Assignor.COOPERATIVE_STICKY, *soak(*(a for a in CLASSES if is_eager(a)))]


@dataclass(frozen=True)
class Phase:
    """What the brokers told, and the seconds of each consumer, while nothing changed.

    `leads`: the client that computed the last assignment, None where consumers do not say.
    """

    group: ObservedGroup
    listed: ListedGroup
    seconds: Mapping[str, Sequence[Said]]
    leads: str | None


@dataclass(frozen=True)
class Course:
    """All are there, C0 has left, it has returned; what was said after the first phase.

    What commands said of the live group before C0 left: `studied` is of `whatif consumers`, `lost`
    of `whatif lose`, `planned` of a plan that adds partitions.
    """

    assignor: Assignor
    phases: tuple[Phase, Phase, Phase]
    studied: Mapping[str, Any]
    lost: Mapping[str, Any]
    planned: Mapping[str, Any]
    lines: tuple[Said, ...]


@pytest.fixture(scope="module")
def sandbox(kafka) -> Sandbox:
    found: Sandbox = kafka(brokers=1)
    for name, partitions in TOPICS.items():
        create(found, name, *((1,) for _ in range(partitions)))
    return found


@pytest.fixture(scope="module", params=ASSIGNORS)
def course(sandbox, request, tmp_path_factory) -> Iterator[Course]:
    assignor: Assignor = request.param
    release = OLD_CLIENTS if assignor is Assignor.STICKY_2_2 else artifacts.LATEST
    with Experiment(sandbox, TOPICS, release) as experiment:
        yield followed(experiment, assignor, tmp_path_factory.mktemp("manifests"))


def followed(experiment: Experiment, assignor: Assignor, manifests: Path) -> Course:
    """The course of a group whose leader leaves, and returns."""
    group = f"b4-{assignor.value}"

    def join(client: str) -> None:
        experiment.join(group, CLASSES[assignor], client, SUBSCRIBED[client])

    def phase(*clients: str) -> Phase:
        seconds = experiment.settled(clients, sum(TOPICS.values()), STABLE_S)
        with BrokerClient.open(experiment.sandbox.bootstrap.split(",")) as brokers:
            told = brokers.consumer_group(group)
            listed = listed_group(brokers, experiment.sandbox, group)
        return Phase(told, listed, seconds, experiment.leads())

    join("C0")
    experiment.settled(["C0"], TOPICS["b4-t0"], 1)
    join("C1")
    join("C2")
    together, begun = phase("C0", "C1", "C2"), len(experiment.lines)
    studied = whatif(experiment.sandbox, "consumers", "--group", group, "--leave", "C0")
    lost = whatif(experiment.sandbox, "lose", "--broker", "1", "--group", group)
    planned = plan_with_more_partitions(experiment.sandbox, group, manifests)
    experiment.leave("C0")
    without = phase("C1", "C2")
    join("C0")
    again, ended = phase("C0", "C1", "C2"), len(experiment.lines)
    lines = tuple(experiment.lines[begun:ended])
    return Course(assignor, (together, without, again), studied, lost, planned, lines)


def plan_with_more_partitions(sandbox: Sandbox, group: str, manifests: Path) -> Mapping[str, Any]:
    """What a plan says of the group; nothing is carried out."""
    topics = {name: {"pool": "p", "partitions": number + 2} for name, number in TOPICS.items()}
    declare(manifests, sandbox, {"p": {"brokers": {"ids": [1]}}}, topics)
    said = run("plan", "-f", manifests, "--group", group, "--output", "json")
    assert (said.code, said.err) == (2, "")
    (told,) = json.loads(said.out)["groups"]
    return told


def listed_group(brokers: BrokerClient, sandbox: Sandbox, group: str) -> ListedGroup:
    """The group's members and its leader, as `whatif lose` asks for them."""
    partitions = len(seen(sandbox, OFFSETS_TOPIC).topics[OFFSETS_TOPIC].partitions)
    found = brokers.group_leaders({offsets_partition(group, partitions): [group]})
    assert not found.unknown
    return ListedGroup(brokers.group_members([group]).members[group], found.leaders[group])


def whatif(sandbox: Sandbox, *words: str) -> Mapping[str, Any]:
    """What a study says of the live cluster."""
    study, *about = words
    cluster = ("--zookeeper", sandbox.connect, "--bootstrap", sandbox.bootstrap)
    said = run("whatif", study, *cluster, *about, "--output", "json")
    assert (said.code, said.err) == (0, "")
    return json.loads(said.out)


def group_of(phase: Phase) -> StudiedGroup:
    """The group with its members as the brokers tell of them, by their real ids."""
    topics = {name: GroupTopic(partitions) for name, partitions in TOPICS.items()}
    return StudiedGroup(topics, phase.group.members)


def client_of(member: GroupMember | str) -> str:
    return (member if isinstance(member, str) else member.id)[:2]


def owned(assignment: Assignment) -> dict[str, frozenset[str]]:
    """Names of partitions by client."""
    return {
        client_of(member): frozenset(f"{topic}-{number}" for topic, number in partitions)
        for member, partitions in assignment.items()
    }


def assert_in_every_second(phase: Phase, predicted: Assignment) -> None:
    wanted = owned(predicted)
    assert owned(phase.group.assignment) == wanted
    for client, seconds in phase.seconds.items():
        assert len(seconds) >= STABLE_S
        assert {said.partitions for said in seconds} == {wanted[client]}


def test_the_brokers_tell_of_the_group(course):
    told = course.phases[0].group
    assert course.assignor in told.assignors
    assert {client_of(each): set(each.topics) for each in told.members} == {
        client: set(topics) for client, topics in SUBSCRIBED.items()
    }


def test_who_reads_what_is_as_the_study_says(course):
    together, without, again = course.phases
    group, assignor = group_of(together), course.assignor
    if assignor in (Assignor.RANGE, Assignor.ROUND_ROBIN):  # others depend on who joined first
        assert_in_every_second(together, settle(assignor, group).assignment)
    courses = {each["assignor"]: each["events"] for each in course.studied["assignors"]}
    start, left = courses[assignor.value]
    assert_in_every_second(together, start["assignment"])
    assert_in_every_second(without, left["assignment"])
    before = Settled(without.group.assignment, (), 1, 0.0)
    assert_in_every_second(again, settle(assignor, group_of(again), before).assignment)


def test_who_leads_the_group_and_takes_over_is_as_the_brokers_tell(course):
    together, without, again = (phase.listed for phase in course.phases)
    assert together.leader is not None
    assert without.leader is not None
    assert together.leader.client == "C0"
    assert without.leader == together.next_leader
    (told,) = course.lost["groups"]
    assert told["leader"]["member"] == together.leader.id
    assert told["nextLeader"]["member"] == without.leader.id
    assert again.leader == without.leader
    if course.assignor is not Assignor.STICKY_2_2:
        leaders = [phase.listed.leader.client for phase in course.phases]
        assert [phase.leads for phase in course.phases] == leaders


def test_what_members_read_after_a_plan_is_part_of_it(course):
    planned, owned_now = course.planned, course.phases[0].group.assignment
    assert (planned["group"], planned["loads"]) == (f"b4-{course.assignor.value}", "partitions")
    members = {each["member"]: each for each in planned["members"]}
    now = {id_: each["partitions"] for id_, each in members.items()}
    assert now == {id_: len(partitions) for id_, partitions in owned_now.items()}
    assert sum(each["partitionsThen"] for each in members.values()) == sum(TOPICS.values()) + 6


def test_each_consumer_reads_in_proportion_to_its_partitions(course):
    for phase in course.phases:
        records = {client: sum(s.records for s in said) for client, said in phase.seconds.items()}
        total = sum(records.values())
        for client, partitions in owned(phase.group.assignment).items():
            share = len(partitions) / sum(TOPICS.values())
            assert records[client] / total == pytest.approx(share, abs=0.15)


def test_what_stops_is_what_the_study_says(course):
    """With an eager assignor all partitions, else only those that change hands."""
    first, second = course.phases[0].group.assignment, course.phases[1].group.assignment
    before, after = owned(first), owned(second)
    kept = frozenset().union(*(before[client] & after[client] for client in after))
    lost_ms = unowned_ms(course.lines)
    staying = sum(ms for name, ms in lost_ms.items() if name in kept) / 1000
    others = sum(lost_ms.values()) / 1000 - staying
    print(
        f"{course.assignor.value}: without a reader {others:.1f} partition seconds of those that"
        f" change hands, {staying:.1f} of those that do not (the article: sticky changes least)"
    )
    if is_eager(course.assignor):
        assert kept <= lost_ms.keys()
    else:
        assert not kept & lost_ms.keys()
    assert before["C0"] <= lost_ms.keys()
