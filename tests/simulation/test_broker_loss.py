"""`whatif lose` against simulated controllers: who leads, and who is in sync, after any loss."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.studies.broker_loss import BrokerLoss, LostPartition, PartitionFate, lose
from poolkeeper.studies.loss_settings import UNCLEAN, settings_of
from poolkeeper.zk.reading import observe

BROKERS = range(1, 7)
TIB = 1 << 40


@dataclass(frozen=True)
class Scene:
    """Topics by their replica lists, of which the first ones elect uncleanly.

    `behind`: brokers that were away while others took records and do not catch up in time.
    `away`: brokers that are dead before. `lost`: those of the study.
    """

    topics: tuple[tuple[tuple[int, ...], ...], ...]
    unclean: int
    behind: frozenset[int]
    away: frozenset[int]
    lost: frozenset[int]
    controller: int


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    lists = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True).map(tuple)
    topics = draw(
        st.lists(st.lists(lists, min_size=2, max_size=5).map(tuple), min_size=2, max_size=3)
    )
    behind = draw(st.frozensets(st.sampled_from(BROKERS), max_size=2))
    away = draw(st.frozensets(st.sampled_from(BROKERS), max_size=1))
    live = [id_ for id_ in BROKERS if id_ not in away]
    lost = draw(st.frozensets(st.sampled_from(live), min_size=1, max_size=len(live) - 1))
    unclean = draw(st.integers(0, len(topics)))
    return Scene(tuple(topics), unclean, behind, away, lost, draw(st.sampled_from(BROKERS)))


@examples(30)
@given(scene=scenes(), kafka=st.sampled_from(["1.1.1", "2.3.1", "3.9.2"]))
def test_leaders_and_isrs_are_those_of_the_controller(scene: Scene, kafka: str) -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(6, "abc"), kafka=kafka))
    cluster.start(first=scene.controller)
    prepare(cluster, scene)
    with FakeSession(cluster.server, cluster.clock) as session:
        seen = observe.cluster(session, "c").cluster
    assert seen.controller.broker == cluster.simulation.controller
    study = lose(seen, scene.lost, settings_of(seen))
    for id_ in scene.lost:
        cluster.simulation.kill(id_)
    cluster.clock.advance(20_000)
    assert told(study) == found(cluster, study)


def prepare(cluster: SimulatedCluster, scene: Scene) -> None:
    for number, lists in enumerate(scene.topics):
        if number < scene.unclean:
            body = {"version": 1, "config": {UNCLEAN: "true"}}
            cluster.create(f"/config/topics/t{number}", body)
        cluster.create_topic(f"t{number}", *lists)
    for id_ in scene.behind:
        cluster.simulation.kill(id_)
    cluster.clock.advance(10_000)
    for number, lists in enumerate(scene.topics):
        for partition in range(len(lists)):
            cluster.simulation.set_size(f"t{number}", partition, TIB)
    for id_ in scene.behind:
        cluster.simulation.start_broker(id_)
    cluster.clock.advance(10_000)
    for id_ in scene.away:
        cluster.simulation.kill(id_)
    cluster.clock.advance(10_000)


def told(study: BrokerLoss) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Leader and ISR by the study, where it says who is in the ISR."""
    return {
        str(each.name): (each.leader, tuple(sorted(each.isr)) if is_told(each) else ())
        for each in study.partitions
    }


def is_told(each: LostPartition) -> bool:
    """Whether the whole ISR is told. Its last one stays without a leader, and which is chance."""
    return each.fate in (PartitionFate.KEPT, PartitionFate.ELECTED)


def found(cluster: SimulatedCluster, study: BrokerLoss) -> dict[str, tuple[int, tuple[int, ...]]]:
    states = {}
    for each in study.partitions:
        leader, isr, _ = cluster.state(*each.name)
        if each.fate is PartitionFate.OFFLINE:
            assert isr
            assert set(isr) <= set(each.isr)
        elif each.fate is PartitionFate.UNCLEAN:
            assert set(each.isr) <= set(isr) <= set(each.replicas) - set(study.lost)
        states[str(each.name)] = (leader, tuple(sorted(isr)) if is_told(each) else ())
    return states


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_worked_example(kafka: str) -> None:
    """Broker 3 is behind; 1 and 2 are lost: what only they had in sync is offline, or unclean."""
    topics = (((1, 3), (3, 1)), ((1, 2), (2, 3), (1, 4)))
    scene = Scene(topics, 1, frozenset({3}), frozenset(), frozenset({1, 2}), 1)
    cluster = SimulatedCluster(SimulationSpec(spread(6, "abc"), kafka=kafka))
    cluster.start(first=1)
    prepare(cluster, scene)
    with FakeSession(cluster.server, cluster.clock) as session:
        seen = observe.cluster(session, "c").cluster
    study = lose(seen, scene.lost, settings_of(seen))
    assert {str(p.name): (p.fate, p.leader, p.isr, p.rescuer) for p in study.partitions} == {
        "t0-0": (PartitionFate.UNCLEAN, 3, (3,), None),
        "t0-1": (PartitionFate.UNCLEAN, 3, (3,), None),
        "t1-0": (PartitionFate.OFFLINE, -1, (1, 2), None),
        "t1-1": (PartitionFate.OFFLINE, -1, (2,), 3),
        "t1-2": (PartitionFate.ELECTED, 4, (4,), None),
    }
    assert study.controller_lost
    for id_ in scene.lost:
        cluster.simulation.kill(id_)
    cluster.clock.advance(20_000)
    assert told(study) == found(cluster, study)
