"""Throttles on real brokers when people edit them, and when the record of their run is lost."""

import pytest
from kazoo.client import KazooClient

import traffic
from conditions import until
from matrices import soak
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.cli.output.runs import status_values
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import RateReason
from poolkeeper.model.execution.throttles import Throttled
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.reconcile.decide import throttle_rate
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk import throttling
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from real.support import (
    MIB,
    REQUEST,
    RUN,
    access,
    asking_brokers,
    assert_nothing_left,
    assignment,
    body,
    configure,
    create,
    desired,
    kazoo,
    move,
    plan_of,
)

RECORDS = "/poolkeeper/records/throttles"
VERSIONS = ["3.9.2", *soak("2.8.2", "2.0.1")]
SIZE = 12 * MIB
RATE = 1 * MIB
FIXED = Throttle(ThrottleMode.FIXED, RATE)
OURS = throttles.rates(RATE, throttles.REPLICATION_KEYS)


class Ended(Exception):
    """Ends the process that drives the run, as far as its cluster can tell."""


def edit(zookeeper: KazooClient, broker: int, changed: dict[str, str | None]) -> None:
    """Do as kafka-configs does: rewrite the config, notify the brokers."""
    path = f"/config/brokers/{broker}"
    merged = {**body(zookeeper, path).get("config", {}), **changed}
    config = {key: value for key, value in merged.items() if value is not None}
    configure(zookeeper, f"brokers/{broker}", config)


def asking(sandbox: Sandbox) -> BrokerClient:
    return BrokerClient.open(sandbox.bootstrap.split(","))


def prepared(sandbox: Sandbox, topic: str) -> Desired:
    """A topic with data on brokers 1 and 2 that takes a while to copy."""
    create(sandbox, topic, (1, 2))
    traffic.fill(sandbox.bootstrap, {topic: 1}, SIZE)
    return desired(topic, execution=Execution(throttle=FIXED))


def status_of(sandbox: Sandbox) -> status_values.Status:
    with access(sandbox).session() as session:
        return status_values.status_of(
            observe.cluster(session, "c").cluster, journal.read_status(session)
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_removed_throttles_are_put_back_and_changed_ones_stay(kafka, topic_name, version):
    sandbox = kafka(version)
    wanted = prepared(sandbox, topic_name)
    plan = plan_of(wanted, sandbox, moves=[move(sandbox, topic_name, 0, (1, 2), (3, 2))])
    own = {throttles.BROKER_KEYS[0]: str(5 * MIB)}
    outcomes: list[Outcome] = []
    told: list[tuple[Wait, ...]] = []
    in_force_again: list[bool] = []
    with kazoo(sandbox.connect) as zookeeper, asking(sandbox) as brokers:

        def watch(outcome: Outcome) -> None:
            if not any(requests(each) for each in outcomes) and requests(outcome):
                edit(zookeeper, 3, dict.fromkeys(OURS))
                edit(zookeeper, 2, own)
            outcomes.append(outcome)
            if any(action.kind is ActionKind.THROTTLES_PUT_BACK for action in outcome.did):
                until(
                    lambda: brokers.throttle_settled(3, OURS) is not False,
                    "broker 3 has the rate again",
                )
                in_force_again.append(zookeeper.exists(REQUEST) is not None)
                told.append(status_of(sandbox).waits)

        assert drive(asking_brokers(sandbox), wanted, plan, watch).state is State.CONVERGED
        named = Wait(WaitReason.THROTTLES_YIELDED, brokers=(2,))
        assert in_force_again == [True]
        assert named in told[0]
        assert any(named in outcome.waits for outcome in outcomes)
        assert assignment(sandbox, topic_name) == [(3, 2)]
        assert body(zookeeper, "/config/brokers/2")["config"] == own
        left = status_of(sandbox).throttles_left
        assert left == (Wait(WaitReason.THROTTLES_UNACCOUNTED, brokers=(2,)),)
        with (
            access(sandbox).session() as session,
            journal.hold(session, "repair", 0, patience_s=1) as held,
        ):
            throttling.remove(held, Throttled((), (2,)))
        unset = dict.fromkeys(OURS)
        until(lambda: brokers.throttle_settled(2, unset) is True, "broker 2 is not throttled")
    assert_nothing_left(sandbox, topic_name)


def requests(outcome: Outcome) -> bool:
    return any(action.kind is ActionKind.STAGE_REQUESTED for action in outcome.did)


@pytest.mark.parametrize("version", VERSIONS)
def test_throttles_of_a_lost_run_are_named_and_taken_off(kafka, topic_name, version):
    sandbox = kafka(version)
    wanted = prepared(sandbox, topic_name)
    plan = plan_of(wanted, sandbox, moves=[move(sandbox, topic_name, 0, (1, 2), (3, 2))])

    def end(outcome: Outcome) -> None:
        if requests(outcome):
            raise Ended

    foreign = {throttles.BROKER_KEYS[1]: str(9 * MIB), "log.cleaner.threads": "2"}
    with kazoo(sandbox.connect) as zookeeper, asking(sandbox) as brokers:
        if not zookeeper.exists("/config/brokers/3"):
            zookeeper.create("/config/brokers/3", b'{"version": 1, "config": {}}', makepath=True)
        edit(zookeeper, 3, foreign)
        with pytest.raises(Ended):
            drive(asking_brokers(sandbox), wanted, plan, end)
        assert status_of(sandbox).throttles_left == ()
        zookeeper.delete(RUN, recursive=True)
        named = Wait(WaitReason.THROTTLES_LEFT, topics=(topic_name,), brokers=(1, 2, 3))
        assert status_of(sandbox).throttles_left == (named,)
        assert zookeeper.exists(REQUEST)
        outcomes: list[Outcome] = []
        nothing = plan_of(wanted, sandbox)
        drive(asking_brokers(sandbox), wanted, nothing, outcomes.append)
        did = [action.kind for outcome in outcomes for action in outcome.did]
        assert did.count(ActionKind.RUN_TAKEN_UP) == 1
        assert did.index(ActionKind.RUN_ENDED) < did.index(ActionKind.THROTTLES_TAKEN_OFF)
        assert body(zookeeper, "/config/brokers/3")["config"] == foreign
        unset = dict.fromkeys(OURS)
        until(lambda: brokers.throttle_settled(1, unset) is True, "broker 1 is not throttled")
        assert zookeeper.get_children(RECORDS) == []
        edit(zookeeper, 3, dict.fromkeys(foreign))
    assert assignment(sandbox, topic_name) == [(3, 2)]
    assert_nothing_left(sandbox, topic_name)


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.9.2", "2.8.2", "2.0.1"])
def test_an_adaptive_throttle_rises_while_all_replicas_keep_up_and_others_have_arrived(
    kafka, topic_name, version, monkeypatch
):
    monkeypatch.setattr(throttle_rate, "ADAPT_EVERY_MS", 2000)
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2), (1, 2))  # the second is empty, and arrives at once
    traffic.fill(sandbox.bootstrap, {topic_name: 1}, 2 * SIZE)
    execution = Execution(throttle=Throttle(ThrottleMode.ADAPTIVE, RATE))
    wanted = desired(topic_name, execution=execution)
    moves = [move(sandbox, topic_name, n, (1, 2), (3, 2)) for n in range(2)]
    plan = plan_of(wanted, sandbox, moves=moves)
    told: list[tuple[int | None, RateReason | None]] = []

    def watch(_: Outcome) -> None:
        run = status_of(sandbox).run
        if run is not None and run.throttle_reason is not None:
            told.append((run.throttle_bytes_per_s, run.throttle_reason))

    assert drive(asking_brokers(sandbox), wanted, plan, watch).state is State.CONVERGED
    rates = [rate for rate, _ in dict.fromkeys(told)]
    assert rates == sorted(rates)
    assert rates[-1] > 2 * RATE
    assert RateReason.KEEPING_UP in {reason for _, reason in told}
    assert_nothing_left(sandbox, topic_name)


@pytest.mark.soak
def test_a_run_begins_where_no_broker_has_ever_had_a_config(fresh_kafka) -> None:
    """Brokers up to 1.0 do not create the parent of these configs."""
    sandbox = fresh_kafka("0.10.2.2", brokers=3, racks="")
    create(sandbox, "t", (1, 2))
    with kazoo(sandbox.connect) as zookeeper:
        assert not zookeeper.exists("/config/brokers")
    wanted = desired("t", brokers=(2, 3), execution=Execution(throttle=FIXED))
    plan = plan_of(wanted, sandbox, moves=[move(sandbox, "t", 0, (1, 2), (3, 2))])

    def heard(outcome: Outcome) -> None:
        assert WaitReason.STALE_WRITE not in {wait.reason for wait in outcome.waits}

    assert drive(access(sandbox), wanted, plan, heard).state is State.CONVERGED
    assert assignment(sandbox, "t") == [(3, 2)]
    assert_nothing_left(sandbox, "t")
