"""A rehearsal without faults: the plan's bytes and stages, margins, what never ends."""

from collections import Counter
from dataclasses import replace
from functools import cache, partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import GIB, MIB
from laws import examples
from poolkeeper.cli.commands.plans.plan import audited_plan
from poolkeeper.cli.output.plans import rehearsal_text
from poolkeeper.model.specs import DrainLogDir, Execution, Throttle, ThrottleMode, Window
from poolkeeper.model.topology import LogDir
from poolkeeper.rehearsal import driving
from poolkeeper.rehearsal.cluster_copy.loading import THROTTLED_PART
from poolkeeper.rehearsal.results import document
from poolkeeper.rehearsal.results.outcomes import Rehearsed, Subject
from poolkeeper.rehearsal.values import End, FaultTarget, Hardware, Rehearsal, RehearsedFault
from rehearsed import FIXED, SETTINGS, seven, subject, wanted

USUAL_WAITS = {"StageInFlight", "ThrottleSettling", "ElectionInProgress"}


def planned_bytes(found: Rehearsal) -> Counter[int]:
    """What the plan says that each broker takes in."""
    taken: Counter[int] = Counter()
    for move in found.plan.moves:
        for broker in set(move.target) - set(move.source):
            taken[broker] += move.replica_bytes
    return taken


def planned_stages(found: Rehearsal) -> list[list[tuple[str, int]]]:
    moves = found.plan.moves
    return [
        sorted((moves[m].topic, moves[m].partition) for m, _ in stage.moves)
        for stage in found.plan.stages
    ]


@cache
def plain() -> Rehearsal:
    stages = replace(FIXED, max_moves=4)
    return subject(execution=stages).rehearse(SETTINGS)


def test_it_ends_and_takes_what_the_plan_predicts_and_the_throttle_s_settling():
    found = plain()
    assert found.end is End.FINISHED
    assert found.plan.makespan is not None
    beside_s = found.seconds - found.plan.makespan.seconds / THROTTLED_PART
    assert 5 < beside_s < 5 + 10 * len(found.stages)


@pytest.mark.parametrize("kafka", ["1.0", "2.2", "2.3.1", "2.4", "3.9"])
def test_replicas_that_arrive_are_not_out_of_sync(kafka):
    found = subject(kafka_version=kafka).rehearse(SETTINGS)
    assert (found.end, found.out_of_sync_max) == (End.FINISHED, 0)
    assert not any(found.series.out_of_sync)


def test_a_run_begins_when_its_window_opens():
    opens_s = 20 * 3600.0
    midnight_ms = SETTINGS.begin_ms // 86_400_000 * 86_400_000
    windows = (Window("0 20 * * *", 3600),)
    settings = replace(SETTINGS, begin_ms=midnight_ms)
    found = subject(execution=replace(FIXED, windows=windows)).rehearse(settings)
    assert found.end is End.FINISHED
    settled_s = opens_s + 5
    assert found.stages[0].begin_s == pytest.approx(settled_s, abs=2)
    waited = {wait.reason: wait.seconds for wait in found.waits}
    assert waited["OutsideWindow"] == pytest.approx(opens_s, abs=2)
    assert waited["StageInFlight"] == pytest.approx(found.seconds - settled_s, abs=10)


def test_what_moves_between_directories_is_said_not_to_be_predicted():
    dirs = {path: LogDir(100 * GIB, 60 * GIB) for path in ("/d1", "/d2")}
    seen = seven()
    seen = replace(seen, brokers={b.id: replace(b, log_dirs=dirs) for b in seen.brokers.values()})
    moved = wanted(drain_log_dirs=(DrainLogDir(1, "/d1"),))
    found = Subject(seen, moved, partial(audited_plan, prune=False)).rehearse(SETTINGS)
    said = " ".join(rehearsal_text.render(Rehearsed(found), None).split())
    assert found.end is End.FINISHED
    assert "at the rate of the plan; without 5 replicas between log directories)" in said
    assert "between log directories)" not in rehearsal_text.render(Rehearsed(plain()), None)


def test_short_stages_after_a_long_one_take_no_longer_for_that():
    seen = seven(partitions=240)
    parts = seen.topics["orders"].partitions
    sizes = [200 * GIB if p.partition == 0 else 100 * MIB for p in parts]
    sized = tuple(p._replace(size_bytes=size) for p, size in zip(parts, sizes, strict=True))
    orders = replace(seen.topics["orders"], partitions=sized)
    large = {"/d1": LogDir(1024 * GIB, 1024 * GIB)}
    brokers = {b.id: replace(b, log_dirs=large) for b in seen.brokers.values()}
    seen = replace(seen, topics={"orders": orders}, brokers=brokers)
    moved = wanted(replace(FIXED, max_moves=3), drain=frozenset({1}))
    found = Subject(seen, moved, partial(audited_plan, prune=False)).rehearse(SETTINGS)
    assert found.end is End.FINISHED
    longest, *others = sorted((s.end_s - s.begin_s for s in found.stages), reverse=True)
    assert longest > 100 * max(others)
    assert found.plan.makespan is not None
    planned_s = found.plan.makespan.seconds / THROTTLED_PART
    assert found.seconds < planned_s + 5 + 2 * len(found.stages)


def test_each_broker_copies_in_what_the_plan_says():
    found = plain()
    copied = Counter({b.broker: b.copied_in for b in found.brokers if b.copied_in})
    assert copied == planned_bytes(found)
    assert sum(b.copied_out for b in found.brokers) == sum(copied.values())


def test_stages_are_the_plan_s_in_their_order():
    found = plain()
    assert len(found.stages) > 1
    assert [list(stage.entries) for stage in found.stages] == planned_stages(found)
    assert [stage.number for stage in found.stages] == list(range(1, len(found.stages) + 1))


def test_margins_are_those_of_a_healthy_run():
    found = plain()
    assert (found.least_margin, found.out_of_sync_max, found.below_min_isr) == (1, 0, ())
    assert 0.04 < found.peak_network < 0.06  # 50 MiB/s of 1 GiB/s
    seventh = found.brokers[6].log_dirs[0]
    assert (seventh.before_bytes, seventh.high_bytes) == (0, found.brokers[6].copied_in)
    assert not found.bad
    assert {wait.reason for wait in found.waits} <= USUAL_WAITS


def test_looking_more_often_changes_no_peak():
    """A slow broker that is as fast as before has the run looked at in its middle."""
    producing = subject(rate=2.0 * MIB)
    found = producing.rehearse(SETTINGS)
    whole = SETTINGS.hardware.network_bytes_per_s
    looks = tuple(
        RehearsedFault("slow", FaultTarget.SLOW, at_s, None, (1,), rate_bytes_per_s=whole)
        for at_s in (0.3, 7.7, 7.9, 8.0, 61.0, 100.4, 111.11)
    )
    looked = producing.rehearse(replace(SETTINGS, faults=looks))
    assert looked.seconds == pytest.approx(found.seconds, abs=1)
    for plainly, often in zip(found.brokers, looked.brokers, strict=True):
        most = often.peak_in_bytes_per_s, often.peak_out_bytes_per_s
        wanted_most = plainly.peak_in_bytes_per_s, plainly.peak_out_bytes_per_s
        assert most == pytest.approx(wanted_most, rel=1e-2)


def test_the_curves_hold_the_bytes_that_were_copied():
    found = plain()
    series = found.series
    for broker in found.brokers:
        held = sum(series.copied_in[broker.broker]) * series.width_s
        assert held == pytest.approx(broker.copied_in, rel=1e-6, abs=1)
    assert round(max(series.used[7, "/d1"])) == found.brokers[6].copied_in


def test_the_same_rehearsal_twice_is_the_same():
    again = subject(execution=replace(FIXED, max_moves=4)).rehearse(SETTINGS)
    assert document.to_json(Rehearsed(again)) == document.to_json(Rehearsed(plain()))


def test_what_producers_write_meanwhile_is_copied_too_and_takes_longer():
    slow, quick = subject(rate=2.0 * MIB).rehearse(SETTINGS), subject().rehearse(SETTINGS)
    assert slow.end is End.FINISHED
    assert slow.seconds > 1.2 * quick.seconds
    assert slow.brokers[6].copied_in == quick.brokers[6].copied_in


def test_a_throttle_below_what_producers_write_never_ends():
    below = Execution(throttle=Throttle(ThrottleMode.FIXED, 10 * MIB))
    found = subject(rate=2.0 * MIB, execution=below).rehearse(SETTINGS)
    assert found.end is End.NEVER_ENDS
    assert found.bad
    assert "no replica arrived for" in found.reason


@pytest.mark.timeout(120)
def test_controllers_that_die_one_after_the_other_do_not_keep_it_going(monkeypatch):
    """A partition that removes all of its replicas, as a damaged snapshot has it."""
    monkeypatch.setattr(driving, "PASSES_IN_VAIN_MAX", 50)
    whole = subject()
    orders = whole.cluster.topics["orders"]
    first, *others = orders.partitions
    emptied = replace(orders, partitions=(first._replace(removing=first.replicas), *others))
    topics = {"orders": emptied, "whole": replace(orders, name="whole")}
    damaged = replace(whole.cluster, topics=topics)
    found = replace(whole, cluster=damaged).rehearse(SETTINGS)
    assert found.end is End.NEVER_ENDS
    assert found.reason.startswith("no replica arrived, and nothing was done, in 50 looks")


def test_a_network_below_what_producers_write_is_named_as_the_cause():
    small = replace(SETTINGS, hardware=Hardware(network_bytes_per_s=1024))
    found = subject(rate=2.0 * MIB).rehearse(small)
    assert found.end is End.NEVER_ENDS
    assert found.reason == (
        "no replica arrived for 3 h; the network of broker 1, of 1 KiB/s, is too small for the"
        " 24 MiB/s that producers write and followers fetch there, and so are those of 5 more"
        " brokers"
    )
    said = rehearsal_text.render(Rehearsed(found))
    assert "  network   over 100 % of a broker's\n" in said


def test_a_slow_network_is_what_limits_without_a_throttle():
    none = Execution(throttle=Throttle(ThrottleMode.NONE))
    slow = replace(SETTINGS, hardware=Hardware(20 * MIB, 512 * MIB))
    found = subject(execution=none).rehearse(slow)
    assert found.end is End.FINISHED
    assert found.peak_network == pytest.approx(1.0)
    assert found.seconds > found.brokers[6].copied_in / (20 * MIB)


def test_an_empty_plan_ends_at_once():
    found = replace(subject(), desired=wanted(goals=())).rehearse(SETTINGS)
    assert (found.plan.empty, found.end, found.seconds) == (True, End.FINISHED, 0.0)


@examples(4)
@given(
    partitions=st.integers(6, 30),
    most=st.integers(1, 12),
    rate=st.sampled_from((20, 60, 200)),
    kafka=st.sampled_from(("1.1.0", "2.3.1", "2.8.2", "3.9.2")),
)
def test_bytes_and_stages_are_the_plan_s(partitions, most, rate, kafka):
    limits = Execution(max_moves=most, throttle=Throttle(ThrottleMode.FIXED, rate * MIB))
    chosen = subject(execution=limits, partitions=partitions)
    found = replace(chosen, cluster=replace(chosen.cluster, kafka_version=kafka)).rehearse(SETTINGS)
    assert (found.end, found.kafka) == (End.FINISHED, kafka)
    copied = Counter({b.broker: b.copied_in for b in found.brokers if b.copied_in})
    assert copied == planned_bytes(found)
    assert [list(stage.entries) for stage in found.stages] == planned_stages(found)
    assert all(b.log_dirs[0].high_bytes < 100 * GIB for b in found.brokers)


def test_a_replica_that_falls_behind_has_copied_no_less_than_nothing():
    one = subject(rate=4 * MIB, partitions=1)
    (orders,) = one.cluster.topics.values()
    behind = (orders.partitions[0]._replace(isr=orders.partitions[0].replicas[:1]),)
    seen = replace(one.cluster, topics={"orders": replace(orders, partitions=behind)})
    slow = replace(SETTINGS, hardware=Hardware(network_bytes_per_s=5 * MIB))
    found = replace(one, cluster=seen, desired=wanted(drain=frozenset({2}))).rehearse(slow)
    assert min(min(each.copied_in, each.copied_out) for each in found.brokers) == 0
