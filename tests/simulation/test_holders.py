"""Who may write to a cluster, when sessions end in outages."""

import pytest

from poolkeeper.errors import Fenced, HolderActive, Refused, Stale, Unavailable
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import FakeClient
from poolkeeper.sandbox.fake_zookeeper.faults import Fault, FaultKind, at_writes
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.session import DeleteNode
from poolkeeper.zk import fencing, znodes
from poolkeeper.zk.client.operations import Create
from poolkeeper.zk.journal import journal


@pytest.fixture
def cluster() -> SimulatedCluster:
    found = SimulatedCluster(SimulationSpec(spread(1), kafka="3.9.2"))
    found.start()
    return found


def session(cluster: SimulatedCluster) -> FakeSession:
    return FakeSession(cluster.server, cluster.clock)


def lose(cluster: SimulatedCluster) -> tuple[FakeSession, set[int]]:
    """Hold the journal until an outage ends it; its session goes on, for ZooKeeper."""
    lost: set[int] = set()
    mine = session(cluster)
    with (
        pytest.raises(Unavailable, match="away"),
        journal.hold(mine, "apply", 0, patience_s=30, lost=lost),
    ):
        raise Unavailable("away")
    assert lost == {mine.session_id}
    return mine, lost


def test_a_session_lost_in_an_outage_is_no_other_executor(cluster: SimulatedCluster) -> None:
    _mine, lost = lose(cluster)
    waited_for: list[fencing.Holder] = []
    for waiting in (None, waited_for.append):
        with (
            pytest.raises(Unavailable, match="our earlier session"),
            journal.hold(session(cluster), "apply", 0, patience_s=1, waiting=waiting, lost=lost),
        ):
            pass
    assert waited_for == []


def test_it_is_waited_for_until_zookeeper_ends_it(cluster: SimulatedCluster) -> None:
    mine, lost = lose(cluster)
    mine.die()
    again = session(cluster)
    with journal.hold(again, "apply", 0, patience_s=30, lost=lost):
        holder = fencing.read_holder(again)
        assert holder is not None
        assert holder.session == again.session_id
        assert lost == set()


def test_so_is_one_whose_answer_was_lost_as_it_took_the_journal(cluster: SimulatedCluster) -> None:
    lost: set[int] = set()
    with journal.hold(session(cluster), "apply", 0, patience_s=1, lost=lost):
        pass  # the journal's own nodes are there
    lost_after_it_is_done = at_writes({1: Fault(FaultKind.LOST, done=True)})
    mine = FakeSession(cluster.server, cluster.clock, plan=lost_after_it_is_done)
    with pytest.raises(Unavailable), journal.hold(mine, "apply", 0, patience_s=1, lost=lost):
        pass
    assert lost == {mine.session_id}
    mine.die()
    with journal.hold(session(cluster), "apply", 0, patience_s=30, lost=lost):
        pass  # it has waited for the end of the session before


@pytest.mark.parametrize("done", [True, False], ids=["done", "not-done"])
def test_an_outage_in_which_the_journal_is_let_go_is_none_of_the_work(
    cluster: SimulatedCluster, done: bool
) -> None:
    lost: set[int] = set()
    with journal.hold(session(cluster), "apply", 0, patience_s=1, lost=lost):
        pass  # the journal's own nodes are there
    outage = at_writes({2: Fault(FaultKind.LOST, done=done)})
    mine = FakeSession(cluster.server, cluster.clock, plan=outage)
    with journal.hold(mine, "apply", 0, patience_s=1, lost=lost):
        pass
    assert lost == {mine.session_id}
    mine.die()
    again = FakeSession(cluster.server, cluster.clock, plan=outage)
    with (
        pytest.raises(Refused, match="why the work ended"),
        journal.hold(again, "apply", 0, patience_s=30, lost=lost),
    ):
        raise Refused("why the work ended")


def test_a_session_that_ends_with_the_work_is_no_other_executor(cluster: SimulatedCluster) -> None:
    lost: set[int] = set()
    mine = session(cluster)
    with journal.hold(mine, "apply", 0, patience_s=1, lost=lost):
        mine.die()
    assert lost == {mine.session_id}


def test_to_any_other_process_it_is_the_holder(cluster: SimulatedCluster) -> None:
    lose(cluster)
    with (
        pytest.raises(HolderActive, match="poolkeeper apply on "),
        journal.hold(session(cluster), "apply", 0, patience_s=1),
    ):
        pass


def delete_journal(cluster: SimulatedCluster) -> None:
    """Delete all of it, as a person does by hand."""
    delete_below(cluster, znodes.ROOT)


def delete_below(cluster: SimulatedCluster, root: str) -> None:
    """Delete a node with all below it."""
    client = FakeClient(cluster.server)
    paths = [root]
    for path in paths:
        paths += [f"{path}/{child}" for child in client.children(path) or ()]
    for path in reversed(paths):
        found = client.get(path)
        assert found is not None
        client.commit([DeleteNode(path, found[1].version)])


def test_who_held_a_journal_that_was_deleted_writes_nothing_once_another_one_is_made(
    cluster: SimulatedCluster,
) -> None:
    """The epoch of the other journal has the same data versions as that of the first one."""
    with journal.hold(session(cluster), "apply", 0, patience_s=1) as held:
        delete_journal(cluster)
        with journal.hold(session(cluster), "apply", 0, patience_s=1) as others:
            others.commit()
            with pytest.raises(Fenced, match="another one was made in its place"):
                held.commit()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(b"x", "/poolkeeper/epoch is damaged: .*`poolkeeper repair`", id="damage"),
        pytest.param(b"9", "somebody wrote into /poolkeeper/epoch", id="another-number"),
    ],
)
def test_an_epoch_that_somebody_wrote_into_is_not_told_as_a_takeover(
    cluster: SimulatedCluster, data: bytes, told: str
) -> None:
    with journal.hold(session(cluster), "apply", 0, patience_s=1) as held:
        cluster.set(znodes.EPOCH, data)
        with pytest.raises(Fenced, match=rf"{told}.*nothing more is written: .*throttles stay"):
            held.commit()


def test_a_holder_s_node_that_somebody_wrote_into_is_not_told_as_a_takeover(
    cluster: SimulatedCluster,
) -> None:
    with journal.hold(session(cluster), "apply", 0, patience_s=1) as held:
        own = znodes.holder_of_session(held.session.session_id)
        cluster.set(own, b"odd")
        with pytest.raises(Fenced, match=f"somebody wrote into {own}"):
            held.commit()


@pytest.mark.parametrize("together", [False, True])
def test_who_held_a_journal_that_was_deleted_is_told_so_where_it_creates_a_node(
    cluster: SimulatedCluster, together: bool
) -> None:
    """A parent that is gone, and its ACL with it, is no write that was lost to another one."""
    creation = Create(znodes.RECORD_OF_BROKERS, b"{}")
    with journal.hold(session(cluster), "run", 0, patience_s=1) as held:
        delete_journal(cluster)
        held.session.sync()
        with pytest.raises(Fenced, match=r"journal was deleted .* is gone"):
            _ = held.commit_each([(creation,)]) if together else held.commit(creation)


@pytest.mark.parametrize("gone", [znodes.RECORDS, znodes.RECORDS_OF_TOPICS])
def test_parents_of_records_that_were_deleted_are_made_anew(
    cluster: SimulatedCluster, gone: str
) -> None:
    creation = Create(znodes.record_of_topic("t"), b"{}")
    with journal.hold(session(cluster), "run", 0, patience_s=1) as held:
        held.session.sync()
        delete_below(cluster, gone)
        with pytest.raises(Stale):
            held.commit(creation)
        held.session.sync()
        held.commit(creation)


def test_nothing_is_left_of_who_let_the_journal_go(cluster: SimulatedCluster) -> None:
    with journal.hold(session(cluster), "apply", 0, patience_s=1):
        pass
    assert FakeClient(cluster.server).children(znodes.ROOT) == ("epoch", "records")
