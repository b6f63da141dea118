"""The operator's loop over one real cluster, in a thread of the test's process."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop as controller_loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.client.session import Session


class Loop:
    """A kept cluster: `desired` may be replaced while it runs, also in the middle of a pass."""

    def __init__(
        self, sandbox: Sandbox, desired: Desired, access: ClusterConnections | None = None
    ) -> None:
        self.desired = self._looked_at = desired
        self._reported: list[tuple[Desired, Outcome]] = []
        alone = ClusterConnections(lambda: Session.open(sandbox.connect, timeout_s=15))
        self.kept = LoopConfig(access or alone, self._look, self._report)
        self.thread = Thread(target=controller_loop.run_loop, args=(self.kept,))

    def declare(self, desired: Desired) -> None:
        self.desired = desired
        self.again()

    def again(self) -> None:
        """Forget what was reported, and have it look."""
        self._reported.clear()
        self.kept.wake.set()

    @property
    def outcomes(self) -> list[Outcome]:
        """What it reported of that which is declared now."""
        return [outcome for of, outcome in list(self._reported) if of is self.desired]

    def waits(self, reason: WaitReason) -> bool:
        return any(has(outcome.waits, reason) for outcome in self.outcomes)

    def converged(self) -> bool:
        return any(outcome.state is State.CONVERGED for outcome in self.outcomes)

    def _look(self) -> Desired:
        self._looked_at = self.desired
        return self._looked_at

    def _report(self, outcome: Outcome) -> None:
        self._reported.append((self._looked_at, outcome))


@contextmanager
def kept(
    sandbox: Sandbox, desired: Desired, access: ClusterConnections | None = None
) -> Iterator[Loop]:
    """Keep a cluster as declared while the block runs; `access` may ask brokers as well."""
    loop = Loop(sandbox, desired, access)
    loop.thread.start()
    try:
        yield loop
    finally:
        loop.kept.end()
        loop.thread.join(120)
    assert not loop.thread.is_alive()
