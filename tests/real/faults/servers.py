"""Brokers, and all servers, die or stand still in a migration."""

from real.faults.harm import ALLOWED, END_S, taken_back
from real.migrations import FAST, Migration


def controller_dies_and_returns(under_way: Migration) -> None:
    controller = under_way.controller()
    assert controller is not None
    under_way.kill(controller)
    under_way.sandbox.start_broker(controller)


def controller_stays_away(under_way: Migration) -> None:
    under_way.elect(1)
    with under_way.applying() as executor:
        under_way.kill(1)
        ended = executor.end(END_S)
        assert ended.code == 0, ended.out
    under_way.sandbox.start_broker(1)


def controller_stands_still(under_way: Migration) -> None:
    controller = under_way.controller()
    assert controller is not None
    under_way.freeze_until_gone(controller)


def targets_die_and_return(under_way: Migration) -> None:
    under_way.kill(3, 4, 5)
    for broker in (3, 4, 5):
        under_way.sandbox.start_broker(broker)


def target_stands_still(under_way: Migration) -> None:
    under_way.freeze_until_gone(under_way.requested()[0]["replicas"][0])


def origin_dies_and_returns(under_way: Migration) -> None:
    leader = under_way.state(0)["leader"]
    under_way.kill(leader)
    under_way.sandbox.start_broker(leader)


def everything_dies(under_way: Migration) -> None:
    under_way.touched |= under_way.registered()
    with under_way.applying():
        for broker in sorted(under_way.registered()):
            under_way.sandbox.kill(broker)
        under_way.sandbox.kill_zookeeper()
    under_way.sandbox.start_zookeeper()
    for broker in sorted(under_way.registered()):
        under_way.sandbox.start_broker(broker)
    under_way.await_connected()


def stopped_with_a_dead_target(under_way: Migration) -> None:
    with under_way.applying() as executor:
        under_way.kill(5)
        assert under_way.run("stop").code == 0
        executor.await_said("broker 5 is not live")
        told = " ".join(under_way.run("status").out.split())
        assert "broker 5 is not live" in told
        assert "drain it" in told
        assert under_way.run("stop", "--now", "--allow-controller-failover").code == 0
        taken_back(under_way, executor.end().code)
    under_way.sandbox.start_broker(5)


def removed_from_its_pool(under_way: Migration) -> None:
    with under_way.applying():
        under_way.kill(5)
    under_way.declare(right={"brokers": {"ids": [3, 4]}}, execution=FAST | ALLOWED)
    under_way.apply()
