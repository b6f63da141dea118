"""When a loop ends that is asked to: at once, whatever it is about to do."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.controller.loops.wake_ups import RESYNC_S
from poolkeeper.model.specs import Mode
from poolkeeper.resources.checks import folder
from poolkeeper.zk import znodes
from simulation.our_tree import OURS, OurTree


class EndedBeforeClear(Event):
    """A wake-up whose loop is asked to end just before it is cleared for that many a time."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number
        self.end: Callable[[], None] = lambda: None

    def clear(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.end()
        super().clear()


def waited_s(tree: OurTree, config: LoopConfig, wake: EndedBeforeClear) -> float:
    """Run the loop until it ends; how long it took from when it was asked to."""
    asked_ms: list[int] = []

    def end() -> None:
        asked_ms.append(tree.clock.now_ms())
        config.end()

    wake.end = end
    loop.run_loop(config)
    return (tree.clock.now_ms() - asked_ms[0]) / 1000


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("mode", [Mode.APPLY, Mode.PLAN_ONLY])
def test_a_loop_that_is_asked_to_end_as_a_pass_begins_waits_for_nothing_after_it(
    declared: Path, mode: Mode, number: int
) -> None:
    tree = OurTree.plant(OURS)
    desired = folder.load((declared,)).desired("main")
    desired = replace(desired, cluster=replace(desired.cluster, mode=mode))
    wake = EndedBeforeClear(number)
    connections = ClusterConnections(tree.session, lambda: None)
    config = LoopConfig(connections, lambda: desired, lambda outcome: None, wake)
    assert waited_s(tree, config, wake) < RESYNC_S / 2


def test_a_loop_that_waits_for_the_journal_ends_when_it_is_asked_to(declared: Path) -> None:
    tree = OurTree.plant(OURS)
    other = tree.session()
    desired = folder.load((declared,)).desired("main")
    wake = EndedBeforeClear(1)
    config = LoopConfig(
        ClusterConnections(tree.session, lambda: None),
        lambda: desired,
        lambda outcome: None,
        wake,
    )
    with loop.journal.hold(other, "run", 0, patience_s=0):
        assert tree.read(znodes.HOLDER) is not None
        assert waited_s(tree, config, wake) < RESYNC_S / 2
