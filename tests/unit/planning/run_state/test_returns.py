"""Where a cancelled step stands, row by row, on both families of Kafka versions."""

from dataclasses import replace

import pytest

import builders
from builders import cluster, partition, plan, topic
from poolkeeper.model.execution.runs import Phase, Run
from poolkeeper.model.topology import Cluster, Partition, ReassignmentEntry
from poolkeeper.planning.run_state.returns import ReturnState, classify_returns, lacks_origin

PATH = ((1, 2), (3, 2))
GROWTH = ((1, 2), (1, 2, 3))
SHRINK = ((1, 2, 3), (1, 2))
RUN = Run("sha256:p", "f", "c", Phase.MOVING, "d", 1, 0, step=((0, 1),))
ON_THE_WAY = {"adding": (3,), "removing": (1,)}
S = ReturnState


def live(*replicas: int, **fields) -> Partition:
    return partition(0, *replicas, **fields)


def cluster_with(found: Partition | None, entry: tuple[int, ...] | None, **other) -> Cluster:
    requested = None if entry is None else (ReassignmentEntry("t", 0, entry),)
    partitions = () if found is None else (found,)
    return cluster((1, 2, 3), topic("t", *partitions), reassignment=requested, **other)


@pytest.mark.parametrize(
    ("path", "found", "entry", "state"),
    [
        pytest.param(PATH, live(1, 2), None, S.RETURNED, id="back"),
        pytest.param(PATH, live(1, 2), (1, 2), S.RETURNED, id="back-though-its-entry-is-there"),
        pytest.param(PATH, live(2, 1), None, S.OUT_OF_ORDER, id="back-in-another-order"),
        pytest.param(PATH, live(2, 1), (1, 2), S.RETURNING, id="its-order-is-requested"),
        pytest.param(PATH, live(3, 2), None, S.ARRIVED, id="arrived-before"),
        pytest.param(PATH, live(3, 2), (3, 2), S.ARRIVED, id="arrived-though-its-entry-is-there"),
        pytest.param(PATH, live(1, 2), (3, 2), S.OUTWARD, id="not-begun"),
        pytest.param(PATH, live(3, 2, 1, **ON_THE_WAY), (3, 2), S.OUTWARD, id="under-way"),
        pytest.param(PATH, live(3, 2, 1, **ON_THE_WAY), None, S.OUTWARD, id="without-its-entry"),
        pytest.param(PATH, live(3, 2, 1, **ON_THE_WAY), (1, 2), S.RETURNING, id="requested-back"),
        pytest.param(PATH, live(3, 2, 1), (3, 2), S.OUTWARD, id="old-under-way"),
        pytest.param(PATH, live(3, 2, 1), None, S.OUTWARD, id="old-and-forgotten"),
        pytest.param(PATH, live(3, 2, 1), (1, 2), S.RETURNING, id="old-requested-back"),
        pytest.param(PATH, live(3, 2, 1, removing=(1,)), (3, 2), S.OUTWARD, id="taken-over"),
        pytest.param(
            PATH, live(1, 2, 3, removing=(3,)), (1, 2), S.RETURNING, id="taken-over-and-back"
        ),
        pytest.param(
            PATH, live(1, 2, 3, removing=(3,)), None, S.RETURNING, id="on-its-way-back-unrequested"
        ),
        pytest.param(GROWTH, live(1, 2, 3, isr=(1, 2)), (1, 2, 3), S.OUTWARD, id="old-growing"),
        pytest.param(GROWTH, live(1, 2, 3), (1, 2, 3), S.ARRIVED, id="grown"),
        pytest.param(GROWTH, live(1, 2, 3), (1, 2), S.RETURNING, id="grown-and-requested-back"),
        pytest.param(SHRINK, live(1, 2, 3), (1, 2), S.OUTWARD, id="old-shrinking"),
        pytest.param(SHRINK, live(1, 2, 3), None, S.RETURNED, id="not-shrunk"),
        pytest.param(PATH, live(5, 2), None, S.LEFT, id="moved-by-somebody-else"),
        pytest.param(
            PATH, live(5, 2, 1, adding=(5,), removing=(1,)), None, S.LEFT, id="somebody-moves-it"
        ),
        pytest.param(PATH, live(1, 2), (5, 2), S.LEFT, id="somebody-else-s-entry"),
        pytest.param(PATH, None, None, S.LEFT, id="no-such-partition"),
    ],
)
def test_where_it_stands(path, found, entry, state):
    made = plan(builders.move("t", 0, *path), cluster="c")
    assert classify_returns(RUN, made, cluster_with(found, entry)) == {0: state}


def test_a_topic_that_changed_while_it_was_read_or_is_another_one_now():
    made = plan(builders.move("t", 0, *PATH), cluster="c")
    torn = cluster((), torn=frozenset({"t"}))
    assert classify_returns(RUN, made, torn) == {0: S.UNKNOWN}
    assert classify_returns(RUN, made, cluster(())) == {0: S.LEFT}
    other = cluster((), topic("t", live(1, 2), topic_id="other"))
    known = replace(made, moves=(made.moves[0]._replace(topic_id="ours"),))
    assert classify_returns(RUN, known, other) == {0: S.LEFT}


@pytest.mark.parametrize(
    ("path", "isr", "alive", "needed", "lacking"),
    [
        pytest.param(((1, 2), (3, 4)), (1, 2), (1, 2, 3), "2", (), id="whole"),
        pytest.param(((1, 2), (3, 4)), (1, 2, 3), (1, 2, 3), "2", (), id="whole-and-more"),
        pytest.param(((1, 2), (3, 4)), (1,), (1, 3), "2", (), id="nothing-is-lost-by-it"),
        pytest.param(((1, 2), (3, 4)), (1, 3), (1, 3), "2", (2,), id="too-few-are-kept"),
        pytest.param(((1, 2), (3, 4)), (1, 3), (1, 3), "1", (), id="enough-are-kept"),
        pytest.param(((1, 2), (3, 4)), (3,), (3,), "1", (1, 2), id="none-is-kept"),
        pytest.param(((1, 2), (3, 4)), (1, 2, 3), (3,), "1", (1, 2), id="the-isr-lags"),
        pytest.param(((1, 2), (3, 4)), None, (1, 2, 3), "1", (), id="unknown"),
    ],
)
def test_an_origin_that_holds_too_few_in_sync(path, isr, alive, needed, lacking):
    made = builders.move("t", 0, *path)
    found = partition(0, 3, 4, 1, 2, adding=(3, 4), removing=(1, 2), isr=isr)
    config = {"min.insync.replicas": needed}
    assert lacks_origin(made, 1, cluster(alive, topic("t", found, config=config))) == lacking
