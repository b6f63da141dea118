"""Scripted faults on real brokers, with clients at work: one list.

A migration from brokers 1 and 2 to a pool of brokers 3, 4 and 5 is begun, something goes wrong, and
in the end it is as declared. What holds for each of them is in `Migration.check`: no acknowledged
record is lost, no partition has fewer replicas in sync than the fault alone cost, no throttle, run,
request or record is left over. Each says which brokers it touches; all others never leave an ISR.
`ELSEWHERE` names the faults that other tests show.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from poolkeeper.sandbox import Sandbox
from real.faults import disks, executors, manifests, nodes, servers, zookeeper
from real.faults.harm import Do, lives_on
from real.migrated_topic import PARTITIONS
from real.migrations import FAST, is_clean, migration_on, started

NEW, MIDDLE, OLD = "3.9.2", "2.8.2", "2.0.1"
ALL = (NEW, MIDDLE, OLD)
HAS_API = (NEW, MIDDLE)
ENDS = (NEW, OLD)
MEDIUM = {"throttle": {"mode": "Fixed", "rate": "96Ki"}}
HERE = Path(__file__).parent


class Touched(Enum):
    """The brokers that a fault itself kills, stops or cuts off."""

    NONE = "none"
    ONE = "one"
    TARGETS = "targets"
    ALL = "all"

    def allows(self, touched: set[int]) -> bool:
        """Whether a fault that says this may have touched these."""
        match self:
            case Touched.NONE:
                return not touched
            case Touched.ONE:
                return len(touched) == 1
            case Touched.TARGETS:
                return touched <= {3, 4, 5}
            case Touched.ALL:
                return True


@dataclass(frozen=True)
class Fault:
    """What is done in the middle of a migration, and what must hold besides what always does."""

    name: str
    versions: tuple[str, ...]
    done: str
    holds: str
    do: Do
    on: tuple[int, ...] = (3, 4, 5)
    touches: Touched = Touched.NONE
    batches_more: int = 0
    """So many batches does partition 0 hold beyond those of the others."""


FAULTS = (
    Fault(
        *("controller-dies", ALL, "kill -9 of the controller, which returns"),
        *("the executor goes on", lives_on(servers.controller_dies_and_returns)),
        touches=Touched.ONE,
    ),
    Fault(
        *("controller-stays-away", ENDS, "kill -9 of the controller, a source, until the end"),
        *("the next controller takes the request up", servers.controller_stays_away),
        touches=Touched.ONE,
    ),
    Fault(
        *("controller-stands-still", ALL, "SIGSTOP of the controller until its session has ended"),
        *("the old controller does no harm", lives_on(servers.controller_stands_still)),
        touches=Touched.ONE,
    ),
    Fault(
        *("targets-die", ALL, "kill -9 of all targets, which return"),
        *("the executor goes on", lives_on(servers.targets_die_and_return)),
        touches=Touched.TARGETS,
    ),
    Fault(
        *("target-stands-still", ENDS, "SIGSTOP of a target until its session has ended"),
        *("the executor goes on", lives_on(servers.target_stands_still)),
        touches=Touched.ONE,
    ),
    Fault(
        *("origin-dies", ALL, "kill -9 of a leader, which returns"),
        *("the other source leads", lives_on(servers.origin_dies_and_returns)),
        touches=Touched.ONE,
    ),
    Fault(
        *("everything-dies", ALL, "kill -9 of all brokers, ZooKeeper and the executor"),
        *("another executor resumes the run", servers.everything_dies),
        touches=Touched.ALL,
    ),
    Fault(
        *("executor-overtaken", ENDS, "SIGSTOP of the executor until another one has its journal"),
        *("the first ends without a write", executors.overtaken_while_it_stood_still),
    ),
    Fault(
        *("rollback-dies", ALL, "kill -9 of the executor once a rollback was asked for"),
        *("the next one takes it back", executors.rollback_dies),
    ),
    Fault(
        *(
            "rollback-dies-often",
            ALL,
            "kill -9 of each executor after its first write",
        ),
        *("others take it back", executors.rollback_dies_at_each_write),
    ),
    Fault(
        *("rollback-dies-often-alone", HAS_API, "the same where only ZooKeeper is declared"),
        *("others take it back", executors.without_brokers(executors.rollback_dies_at_each_write)),
    ),
    Fault(
        *("dead-target-stopped", ALL, "a target is dead; the run is stopped, then `stop --now`"),
        *("it says what to do; all is as it was", servers.stopped_with_a_dead_target),
        touches=Touched.ONE,
    ),
    Fault(
        *("dead-target-removed", ALL, "a target is dead and leaves its pool's brokers"),
        *("what waits for it is cancelled", servers.removed_from_its_pool, (3, 4)),
        touches=Touched.ONE,
    ),
    Fault(
        *("zookeeper-15-s", ALL, "ZooKeeper is killed, and started after 15 s"),
        *("the executor takes its journal again", zookeeper.away(15)),
        touches=Touched.ALL,
    ),
    Fault(
        *("zookeeper-60-s", ENDS, "ZooKeeper is killed, and started after a minute"),
        *("the executor takes its journal again", zookeeper.away(60)),
        touches=Touched.ALL,
    ),
    Fault(
        *("zookeeper-5-min", ENDS, "ZooKeeper is killed, and started after five minutes"),
        *("the executor takes its journal again", zookeeper.away(300)),
        touches=Touched.ALL,
    ),
    Fault(
        *("zookeeper-cut-off", ALL, "SIGSTOP of ZooKeeper for longer than all sessions"),
        *("it goes on; deaf brokers are named and restarted", zookeeper.cut_off),
        touches=Touched.ALL,
    ),
    Fault(
        *("zookeeper-disk-full", ENDS, "ZooKeeper's files cannot grow; it dies, and gets room"),
        *("the executor goes on", lives_on(zookeeper.disk_full)),
        touches=Touched.ALL,
    ),
    Fault(
        *("plan-cut", ENDS, "the executor is killed, and half of the stored plan is gone"),
        *("the path is named; `repair` ends the run", nodes.plan_of_the_run_is_cut),
    ),
    Fault(
        *("record-damaged", ENDS, "the record of the topic is cut while it moves"),
        *("the path is named; `repair` mends it", nodes.topic_record_is_damaged),
    ),
    Fault(
        *("run-removed", ALL, "the executor is killed, and the run's node deleted"),
        *("the throttles are named, and taken off", nodes.run_node_is_removed),
    ),
    Fault(
        *("throttles-restored", ENDS, "configs of the middle of the run are restored after it"),
        *("they are named; `repair` unsets them", nodes.old_throttles_are_restored),
    ),
    Fault(
        *("request-deleted", ALL, "somebody deletes our request"),
        *("it is no cancel: the moves arrive", lives_on(nodes.request_is_deleted)),
    ),
    Fault(
        *("request-unreadable", HAS_API, "a request that no controller can read lies there before"),
        *("it is named and removed, the controller woken", nodes.request_that_nobody_can_read),
    ),
    Fault(
        *("foreign-move", HAS_API, "somebody moves a partition of ours by the brokers' API"),
        *("it is left alone: exit code 4", nodes.somebody_moves_one_of_ours),
    ),
    Fault(
        *("moves-cancelled", HAS_API, "somebody cancels our moves, as Kafka's own tool does"),
        *("that stops the run: exit code 1", nodes.somebody_cancels_ours),
    ),
    Fault(
        *("log-directory-full", ALL, "the files of a target cannot grow any more"),
        *("the directory is named; with room it goes on", disks.log_directory_is_full),
        batches_more=24,
        touches=Touched.ONE,
    ),
    Fault(
        *("origin-full-in-rollback", ALL, "the files of a source cannot grow while it rolls back"),
        *("the directory is named; with room it ends", disks.origin_is_full_in_a_rollback),
        batches_more=24,
        touches=Touched.ONE,
    ),
    Fault(
        *("origin-full-in-rollback-alone", HAS_API, "the same where only ZooKeeper is declared"),
        *("with room it ends", disks.origin_is_full_in_a_rollback_by_failover),
        batches_more=24,
        touches=Touched.ONE,
    ),
    Fault(
        *("target-full-in-rollback", ALL, "the files of a target cannot grow; it is rolled back"),
        *("what is in flight is as it was", disks.target_is_full_in_a_rollback),
        batches_more=24,
        touches=Touched.ONE,
    ),
    Fault(
        *("folder-empty", ENDS, "the manifests of `run` disappear, and come back"),
        *("it says so, and lets nothing go", manifests.folder_is_empty),
    ),
    Fault(
        *("plan-only", ENDS, "the mode becomes PlanOnly, and Apply again"),
        *("the run is ours, its throttles are told", manifests.plan_only_in_mid_run),
    ),
)

ELSEWHERE = {
    "kill -9 of `apply` at each part of a stage": "killed::test_a_migration_whose_apply_is_killed_"
    "five_times_ends_right",
    "several faults in one migration": "composite::test_a_migration_lives_through_everything",
    "a dead target is drained": "rollback::test_what_is_in_flight_is_taken_back",
    "a dead target is drained while others go on": "rollback::test_the_brokers_drop_a_target_that_"
    "is_gone_while_others_go_on",
    "heal counts a dead target as gone": "rollback::test_a_target_that_heal_counts_as_gone_ends_"
    "the_run_and_the_next_goes_on",
    "a rollback dies around each write": "rollback::test_a_rollback_that_is_cut_off_around_any_"
    "write_is_taken_up",
    "poisoned topics, configs and records": "repair::test_what_is_poisoned_is_repaired_and_the_"
    "next_controller_starts",
    "throttles removed or changed in mid-run": "throttles::test_removed_throttles_are_put_back_and_"
    "changed_ones_stay",
    "throttles of a lost run beside a person's": "throttles::test_throttles_of_a_lost_run_are_"
    "named_and_taken_off",
    "an entry is added to our request": "hangs::test_an_entry_that_poisons_the_next_controller_is_"
    "named_and_never_read",
    "a request for an unknown broker": "hangs::test_requests_that_somebody_left_do_not_keep_a_run_"
    "from_beginning",
    "a log directory fails": "hangs::test_a_log_directory_that_fails_under_a_copy_is_named",
    "somebody's request comes first": "execution::test_a_foreign_request_is_waited_for_and_named_"
    "and_nothing_is_written",
    "a topic is deleted in mid-run": "execution::test_a_topic_deleted_in_the_middle_of_a_run_is_"
    "left_alone",
}
"""By what goes wrong: the file and the name of the test."""


class Brokers:
    """The cluster of one version at a time, until a fault is not lived through."""

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None

    @contextmanager
    def of(self, version: str) -> Iterator[Sandbox]:
        known = self._sandbox
        if known is not None and (known.spec.kafka != version or not is_clean(known)):
            self.close()
        if self._sandbox is None:
            self._sandbox = started(version)
        try:
            yield self._sandbox
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None


@pytest.fixture(scope="module")
def brokers() -> Iterator[Brokers]:
    found = Brokers()
    yield found
    found.close()


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("fault", "version"),
    [
        pytest.param(fault, version, id=f"{fault.name}-{version}")
        for version in ALL
        for fault in FAULTS
        if version in fault.versions
    ],
)
def test_a_fault_is_lived_through(
    brokers: Brokers, fault: Fault, version: str, tmp_path: Path
) -> None:
    batches = (16 + fault.batches_more, *[16] * (PARTITIONS - 1))
    with brokers.of(version) as sandbox, migration_on(sandbox, tmp_path, batches) as under_way:
        under_way.declare(pool="right", execution=MEDIUM)
        fault.do(under_way)
        execution = under_way.declared["execution"]
        under_way.declare(execution=execution | FAST)
        under_way.apply()
        assert fault.touches.allows(under_way.touched), under_way.touched
        under_way.check(fault.on)
        if missing := under_way.registered() - set(fault.on) - {1, 2}:
            for broker in missing:
                sandbox.start_broker(broker)


def test_the_tests_that_are_referred_to_exist() -> None:
    for reference in ELSEWHERE.values():
        file, _, name = reference.partition("::")
        tree = ast.parse((HERE / f"test_{file}.py").read_text())
        assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
