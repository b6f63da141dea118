"""How moves in flight ended on real brokers: requests edited or replaced, controllers that went.

Each row was observed on live brokers; the ids name release and event.
"""

import json
from collections.abc import Callable

import pytest

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster, body_of
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode
from simulation.irregular import ALL, MB, MIDDLE, NEW, OLD, cluster_of, gone, notices

EDITS: dict[str, Callable[[SimulatedCluster], None]] = {
    "overwritten": lambda c: c.set(REQUEST, body_of({("t", 0): [3, 4], ("t", 1): [3, 4]})),
    "deleted": lambda c: c.delete(REQUEST),
    "replaced": lambda c: (c.delete(REQUEST), c.request({("t", 1): [3, 4]}))[0],
}


@pytest.mark.parametrize(
    ("kafka", "edit", "second_done", "node_stays", "watch_works"),
    [
        (OLD, "overwritten", True, False, True),
        (OLD, "deleted", False, False, True),
        (OLD, "replaced", True, False, True),
        ("1.1.1", "overwritten", False, False, True),
        ("1.1.1", "replaced", False, False, True),
        (MIDDLE, "overwritten", False, False, True),
        (MIDDLE, "deleted", False, False, True),
        (MIDDLE, "replaced", False, False, True),
        (NEW, "overwritten", False, True, False),
        (NEW, "deleted", False, False, True),
        (NEW, "replaced", False, True, False),
    ],
)
def test_edits_of_a_request_under_way(
    kafka: str, edit: str, second_done: bool, node_stays: bool, watch_works: bool
) -> None:
    cluster = cluster_of(kafka, slow=True)
    cluster.request({("t", 0): [3, 4]})
    cluster.clock.advance(1_000)
    EDITS[edit](cluster)
    cluster.clock.advance(60_000)
    assert cluster.replicas("t")["0"] == [3, 4], "it goes on whatever happens to the node"
    assert (cluster.replicas("t")["1"] == [3, 4]) is second_done
    assert cluster.exists(REQUEST) is node_stays
    if node_stays:
        cluster.delete(REQUEST)
    assert notices(cluster) is watch_works


def test_2_0_creates_a_deleted_request_again_with_what_is_left() -> None:
    cluster = cluster_of(MIDDLE, slow=True)
    cluster.simulation.set_size("t", 0, 1 * MB)
    cluster.request({("t", 0): [3, 4], ("t", 1): [3, 4]})
    cluster.clock.advance(300)
    cluster.delete(REQUEST)
    assert cluster.clock.run_until(lambda: cluster.exists(REQUEST), 20_000)
    assert cluster.read(REQUEST) == body_of({("t", 1): [3, 4]})


@ALL
def test_a_dead_target_hangs_and_the_rest_is_done(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.request({("t", 0): [2, 99], ("t", 1): [3, 4]})
    cluster.clock.advance(20_000)
    assert cluster.replicas("t") == {"0": [2, 99, 1], "1": [3, 4]}
    assert cluster.read(REQUEST) == body_of({("t", 0): [2, 99]})
    assert cluster.state("t") == (1, [1, 2], 1)


def test_leaving_a_hanging_move_by_the_api_gives_the_origin_in_mixed_order() -> None:
    cluster = cluster_of(NEW)
    cluster.request({("t", 0): [2, 99]})
    cluster.clock.advance(5_000)
    epoch = cluster.state("t")[2]
    cluster.simulation.alter_reassignments({("t", 0): None})
    assert gone(cluster)
    cluster.settle()
    assert cluster.replicas("t")["0"] == [2, 1]
    assert cluster.state("t")[2] == epoch + 1


@pytest.mark.parametrize("kafka", [OLD, MIDDLE, "2.3.1"])
def test_leaving_a_hanging_move_by_an_election_and_the_old_list(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.request({("t", 0): [2, 99]})
    cluster.clock.advance(5_000)
    cluster.delete(REQUEST)
    cluster.fail_over()
    assert sorted(cluster.replicas("t")["0"]) == [1, 2, 99]
    assert not cluster.exists(REQUEST)
    cluster.request({("t", 0): [1, 2]})
    assert gone(cluster)
    assert cluster.replicas("t")["0"] == [1, 2]


def replace_request(
    cluster: SimulatedCluster, entries: dict[tuple[str, int], list[int]], *, resign: bool
) -> None:
    """Put a request in the place of another, perhaps with the controller's end, at one stroke."""
    made = [CreateNode(REQUEST, json.dumps(body_of(entries)).encode())] if entries else []
    ended = [DeleteNode("/controller")] if resign else []
    cluster.client.commit([DeleteNode(REQUEST), *made, *ended])


@pytest.mark.parametrize("kafka", [MIDDLE, "2.8.2", NEW])
def test_a_request_in_place_of_another_is_seen_by_the_next_controller_alone(kafka: str) -> None:
    """p0 hangs on a dead broker and goes back, in its order; p1 is on its way and goes on."""
    cluster = cluster_of(kafka, slow=True)
    cluster.simulation.kill(4)
    cluster.clock.advance(6_000)
    cluster.request({("t", 0): [1, 4], ("t", 1): [2, 3]})
    cluster.clock.advance(1_000)
    back = {("t", 0): [1, 2], ("t", 1): [2, 3]}
    replace_request(cluster, back, resign=False)
    cluster.clock.advance(1_000)
    assert cluster.replicas("t")["0"] == [1, 4, 2]
    replace_request(cluster, back, resign=True)
    assert gone(cluster)
    assert cluster.replicas("t") == {"0": [1, 2], "1": [2, 3]}
    assert cluster.state("t", 0) == (1, [1, 2], 2)
    assert cluster.epoch() == 2
    assert notices(cluster)


@pytest.mark.parametrize(("kafka", "goes_on"), [(MIDDLE, False), (NEW, True)])
def test_a_move_without_its_request_after_an_election(kafka: str, goes_on: bool) -> None:
    """Its brokers of before and after are dead: the list stays the union, and can be moved on."""
    cluster = cluster_of(kafka, brokers=5)
    for id_ in (1, 4):
        cluster.simulation.kill(id_)
    cluster.clock.advance(6_000)
    cluster.settle()
    cluster.request({("t", 0): [4, 2]})
    cluster.clock.advance(1_000)
    replace_request(cluster, {}, resign=True)
    cluster.clock.advance(1_000)
    cluster.settle()
    assert cluster.replicas("t")["0"] == [4, 2, 1]
    assert bool(cluster.read("/brokers/topics/t").get("adding_replicas")) == goes_on
    cluster.request({("t", 0): [5, 2]})
    assert gone(cluster)
    cluster.settle()
    assert cluster.replicas("t")["0"] == [5, 2]
