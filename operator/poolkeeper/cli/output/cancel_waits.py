"""What stands in the way of cancelling moves of the run under way, as its executor would see it."""

from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.returns import classify_returns
from poolkeeper.reconcile.decide import cancel
from poolkeeper.reconcile.decide.decisions import RunSituation
from poolkeeper.reconcile.observation import RunView
from poolkeeper.zk.journal import JournalView


def cancel_waits(
    cluster: Cluster, journal: JournalView, desired: Desired, gone: frozenset[int], now_ms: int
) -> tuple[Wait, ...]:
    """Return why moves in flight are not cancelled although they should be; `gone`: by `heal`."""
    run, document = journal.run, journal.document
    if run is None or document is None or run.phase is not Phase.MOVING or not run.step:
        return ()
    view = RunView(
        ClusterReading(cluster),
        returns=classify_returns(run, document.plan, cluster),
        stop=journal.stop,
        gone=gone,
    )
    asks_brokers = desired.cluster.brokers is not None
    at = RunSituation(run, document, view, desired, now_ms, asks_brokers=asks_brokers)
    return cancel.waits(at)
