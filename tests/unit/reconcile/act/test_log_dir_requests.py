"""How brokers are asked to move replicas between their log directories."""

from poolkeeper.brokers.sizes import BrokerLogs, Sizes
from poolkeeper.errors import Unavailable
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.held_copies import Asks
from poolkeeper.reconcile.act import log_dir_requests
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide.decisions import (
    MoveLogDirs,
)
from unit.reconcile.log_dir_situations import (
    A,
    B,
    P,
    situation,
)


class Access:
    """Counts how often it was made sure that nobody else took over."""

    def __init__(self):
        self.checks = 0

    def confirm_holder(self):
        self.checks += 1


class Brokers:
    """Takes every request, but from brokers that are away or refuse."""

    def __init__(self, away=(), refused=()):
        self.asked, self.away, self.refused = {}, away, refused

    def move_log_dirs(self, broker, targets):
        if broker in self.away:
            raise Unavailable(f"broker {broker} is away")
        self.asked[broker] = {name.partition: path for name, path in targets.items()}
        return {name: "no such directory" for name in targets if name.partition in self.refused}


def moved(broker, *partitions, kind=ActionKind.MOVE_LOG_DIRS):
    names = tuple(TopicPartition("t", p) for p in partitions)
    return Action(kind, broker=broker, count=len(names), partitions=names)


def carried_out(decision, brokers):
    access = Access()
    context = PassContext(access, lambda: 0, brokers)
    context.memory.copies.sizes = Sizes({1: BrokerLogs({}, {})})
    context.memory.copies.asked_ms = 5
    found = log_dir_requests.carry_out(context, situation(*[P] * 6), decision)
    return found, access, context


def test_brokers_are_asked_each_after_a_look_at_the_epoch_and_looked_at_soon():
    brokers = Brokers()
    found, access, context = carried_out(MoveLogDirs((0, 1, 4)), brokers)
    assert found.did == (moved(1, 0, 1), moved(2, 4))
    assert brokers.asked == {1: {0: B, 1: B}, 2: {4: B}}
    assert access.checks == len(brokers.asked)
    assert context.memory.copies.asked_ms == 0


def test_a_cancelled_move_stays_in_its_directory():
    brokers = Brokers()
    found, _, _ = carried_out(MoveLogDirs(cancelled=(0, 4)), brokers)
    assert brokers.asked == {1: {0: A}, 2: {4: A}}
    cancelled = ActionKind.LOG_DIR_MOVES_CANCELLED
    assert found.did == (moved(1, 0, kind=cancelled), moved(2, 4, kind=cancelled))


def test_a_broker_that_is_away_holds_up_no_other_and_refusals_are_counted():
    found, _, context = carried_out(MoveLogDirs((0, 5)), Brokers(away=(1,), refused=(5,)))
    refused = Wait(
        WaitReason.LOG_DIR_MOVE_REFUSED,
        partitions=(TopicPartition("t", 5),),
        brokers=(2,),
        detail="no such directory",
    )
    assert found.waits == (Wait(WaitReason.UNAVAILABLE, detail="broker 1 is away"), refused)
    assert found.did == ()
    assert context.memory.copies.asks == {5: Asks(1, "no such directory")}
