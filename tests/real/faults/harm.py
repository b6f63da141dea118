"""What faults on a migration have in common: how they are done, and what has to hold afterwards.

The modules beside this one have a function for each fault, named by what it is done to; the scripts
of `test_faults` call it with a migration that is declared and not begun. It begins it, does harm,
and shows what is said meanwhile. What it leaves undone, an `apply` afterwards completes.
"""

import resource
from collections.abc import Callable

from poolkeeper.sandbox.servers.processes import Child
from real.migrated_topic import ORIGIN, TOPIC
from real.migrations import Migration
from real.support import assert_nothing_left

Do = Callable[[Migration], None]
ALLOWED = {"remedies": {"allowControllerFailover": True, "removeStaleRequests": True}}
END_S = 300.0


def lives_on(harm: Do) -> Do:
    """While `harm` is done, the executor goes on, and comes to the end by itself."""

    def do(under_way: Migration) -> None:
        with under_way.applying() as executor:
            harm(under_way)
            ended = executor.end(END_S)
            assert ended.code == 0, ended.out

    return do


def rolling_back(under_way: Migration) -> None:
    asked = under_way.run("rollback", "--allow-controller-failover")
    assert asked.code == 0, asked.err


def taken_back(under_way: Migration, code: int = 1) -> None:
    """The run has ended, and everything is as it was before it, in order."""
    assert code == 1
    assert [tuple(replicas) for replicas in under_way.replicas()] == ORIGIN
    assert_nothing_left(under_way.sandbox, TOPIC)


def limit(server: Child, file_bytes: int) -> None:
    """Let no file of a process grow beyond this any more: for it, the disk is full."""
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))
