"""The queue of statuses, with a clock that the test turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from poolkeeper.kube.objects.work_queue import SUSPECTS_AT_ONCE, WorkQueue, paused_s


class Clock:
    def __init__(self):
        self.now_s = 1000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    return WorkQueue(clock)


def taken(queue):
    """All that can be taken now."""
    found = []
    while queue._until_ready_s() == 0:
        if (pair := queue._pop()) is not None:
            found.append(pair)
    return found


def test_the_latest_value_wins_and_keeps_its_place(queue):
    queue.put("a", 1)
    queue.put("b", 1)
    queue.put("a", 2)
    assert taken(queue) == [("a", 2), ("b", 1)]


def test_a_delayed_value_is_held_unless_a_newer_one_is_due(queue, clock):
    queue.put("a", 1, delay_s=1)
    queue.put("b", 1, delay_s=1)
    assert taken(queue) == []
    queue.put("a", 2)
    assert taken(queue) == [("a", 2)]
    queue.put("a", 3, delay_s=5)  # while the one before is being written
    queue.done("a")
    clock.now_s += 1
    queue.put("b", 2, delay_s=1)  # that it is renewed makes it no later
    assert taken(queue) == [("b", 2)]
    clock.now_s += 4
    assert taken(queue) == [("a", 3)]


def test_a_failed_value_is_not_made_due_by_newer_ones(queue, clock):
    queue.put("a", 1, delay_s=0.5)
    queue.put("a", 2)
    taken(queue)
    queue.again("a", shared=False)
    queue.put("a", 3)
    clock.now_s += 0.9
    assert taken(queue) == []
    clock.now_s += 0.2
    assert taken(queue) == [("a", 3)]


def test_who_waits_until_all_is_written_makes_all_due(queue):
    queue.put("a", 1, delay_s=60)
    assert queue.wait_empty(0) is False
    assert taken(queue) == [("a", 1)]


def test_a_group_of_many_keys_keeps_no_other_waiting(clock):
    queue = WorkQueue(clock, group_of=lambda key: key[0])
    for number in range(5):
        queue.put(f"m{number}", number)
    clock.now_s += 1
    for key in ("f0", "f1", "g0"):
        queue.put(key, 0)
    order = [key for key, _ in taken(queue)]
    assert order == ["m0", "f0", "g0", "m1", "f1", "m2", "m3", "m4"]


def test_a_key_is_in_one_hand_at_a_time(queue):
    queue.put("a", 1)
    assert taken(queue) == [("a", 1)]
    queue.put("a", 2)
    assert taken(queue) == []
    queue.done("a")
    assert taken(queue) == [("a", 2)]


def test_a_failed_value_comes_again_later_and_later(queue, clock):
    queue.put("a", 1)
    for pause_s in (1, 2, 4, 8, 16, 30, 30):
        assert taken(queue) == [("a", 1)]
        queue.again("a", shared=False)
        clock.now_s += pause_s - 0.01
        assert taken(queue) == []
        clock.now_s += 0.02


def test_a_failed_value_gives_way_to_a_newer_one(queue, clock):
    queue.put("a", 1)
    taken(queue)
    queue.put("a", 2)
    queue.again("a", shared=False)
    clock.now_s += 1
    assert taken(queue) == [("a", 2)]


def test_one_failure_of_its_own_does_not_hold_up_others(queue):
    queue.put("a", 1)
    taken(queue)
    queue.again("a", shared=False)
    queue.put("b", 1)
    assert taken(queue) == [("b", 1)]


def test_after_a_common_failure_one_probes_and_then_all_go_on(queue, clock):
    for key in "abcd":
        queue.put(key, 1)
    assert [key for key, _ in taken(queue)] == list("abcd")
    for key in "abc":
        queue.again(key, shared=True)
    assert taken(queue) == []
    clock.now_s += 0.5
    assert taken(queue) == [("a", 1)]
    queue.again("a", shared=True)
    clock.now_s += 1
    assert taken(queue) == [("b", 1)]
    queue.done("b")
    assert [key for key, _ in taken(queue)] == ["c", "a"]


def test_a_group_that_fails_again_and_again_keeps_no_other_waiting(clock):
    """Where a webhook of one namespace is away, each of its objects seems to show an outage."""
    queue = WorkQueue(clock, group_of=lambda key: key[0])
    for number in range(1000):
        queue.put(("away", number), 1)
    for number in range(20):
        queue.put(("other", number), 1)
        queue.put(("another", number), 1)
    written = set()
    for _ in range(40):
        clock.now_s += 0.5
        while queue._until_ready_s() == 0:
            if (pair := queue._pop()) is None:
                continue
            group, _ = key = pair[0]
            if group == "away":
                queue.again(key, shared=True)
            else:
                written.add(key)
                queue.done(key)
    assert len(written) == 40
    assert len(queue) == 1000


@pytest.fixture
def one_away(clock):
    """A queue in which one group has failed, and goes on to fail while others are written."""
    queue = WorkQueue(clock, group_of=lambda key: key[0])
    for key in (("away", 0), ("other", 0)):
        queue.put(key, 1)
        taken(queue)
        (queue.again(key, shared=True) if key[0] == "away" else queue.done(key))
        clock.now_s += 1
    for number in range(9):
        queue.put(("away", number), 1)
    return queue


def test_a_group_that_fails_alone_pauses_alone(one_away, clock):
    for number in range(1, 9):
        for key, _ in taken(one_away):
            one_away.again(key, shared=True)
        one_away.put(("other", number), 1)
        assert taken(one_away) == [(("other", number), 1)], "it waits for no pause"
        one_away.done(("other", number))
    tried = 0
    for _ in range(40):
        clock.now_s += 0.25
        for key, _ in taken(one_away):
            tried += 1
            one_away.again(key, shared=True)
    assert 2 <= tried <= 10, "it is not tried each moment"


def test_writes_that_hang_leave_threads_to_others(one_away):
    hanging = [key for key, _ in taken(one_away)]
    assert [group for group, _ in hanging] == ["away"] * SUSPECTS_AT_ONCE
    one_away.put(("other", 1), 1)
    assert taken(one_away) == [(("other", 1), 1)]
    one_away.done(hanging[0])
    assert len(taken(one_away)) == 7, "once one is written, all go on"


def test_an_outage_after_that_pauses_all(one_away, clock):
    one_away.put(("other", 1), 1)
    for key, _ in taken(one_away):
        one_away.again(key, shared=True)
    one_away.put(("third", 1), 1)
    assert taken(one_away) == []
    clock.now_s += 0.5
    assert len(taken(one_away)) == 1, "one probes"


def test_an_outage_that_ends_is_over_for_all_groups(clock):
    queue = WorkQueue(clock, group_of=lambda key: key[0])
    keys = [(group, number) for group in "ab" for number in range(3)]
    for key in keys:
        queue.put(key, 1)
    for _ in range(10):
        for key, _ in taken(queue):
            queue.again(key, shared=True)
        clock.now_s += 5
    written = []
    while queue._until_ready_s() == 0:
        if (pair := queue._pop()) is not None:
            written.append(pair[0])
            queue.done(pair[0])
    assert sorted(written) == keys


def test_threads_that_fail_together_pause_once(queue, clock):
    for key in "abcd":
        queue.put(key, 1)
    taken(queue)
    for key in "abcd":
        queue.again(key, shared=True)
    clock.now_s += 0.5
    assert len(taken(queue)) == 1


def test_what_was_dropped_in_flight_does_not_come_again(queue, clock):
    queue.put("a", 1)
    taken(queue)
    queue.drop("a")
    queue.again("a", shared=False)
    clock.now_s += 60
    assert taken(queue) == []
    assert len(queue) == 0


def test_what_was_put_after_a_drop_comes(queue):
    queue.put("a", 1)
    taken(queue)
    queue.drop("a")
    queue.put("a", 2)
    queue.done("a")
    assert taken(queue) == [("a", 2)]


def test_age_is_that_of_the_first_word_that_is_not_dealt_with(queue, clock):
    assert queue.oldest_s() == 0
    queue.put("a", 1)
    clock.now_s += 5
    queue.put("a", 2)
    queue.put("b", 1)
    assert queue.oldest_s() == 5
    taken(queue)
    queue.put("a", 3)
    queue.again("a", shared=False)
    assert queue.oldest_s() == 5
    queue.done("b")
    assert queue.oldest_s() == 5


def test_a_closed_queue_gives_nothing(queue):
    queue.put("a", 1)
    queue.close()
    assert queue.take() is None


def test_flushing_an_empty_queue_is_quick_and_a_full_one_says_no(queue):
    assert queue.wait_empty(0)
    queue.put("a", 1)
    assert not queue.wait_empty(0.01)


@given(st.integers(0, 10_000))
def test_pauses_are_bounded(failures):
    assert 1 <= paused_s(failures, 1.0, 30.0) <= 30


class NothingIsLost(RuleBasedStateMachine):
    """Whatever happens, each key ends with the value that was put last, and in one hand."""

    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.queue = WorkQueue(self.clock)
        self.put_last: dict[str, int] = {}
        self.dealt_with: dict[str, int] = {}
        self.in_hand: dict[str, int] = {}
        self.number = 0

    @rule(key=st.sampled_from("abc"), delay_s=st.sampled_from([0.0, 0.0, 0.2, 2.0]))
    def put(self, key, delay_s):
        self.number += 1
        self.put_last[key] = self.number
        self.queue.put(key, self.number, delay_s=delay_s)

    @rule(seconds=st.sampled_from([0.3, 1.0, 40.0]))
    def time_passes(self, seconds):
        self.clock.now_s += seconds

    @rule()
    def take(self):
        if self.queue._until_ready_s() == 0 and (pair := self.queue._pop()):
            assert pair[0] not in self.in_hand
            self.in_hand[pair[0]] = pair[1]

    @precondition(lambda self: self.in_hand)
    @rule(shared=st.booleans(), data=st.data())
    def fail(self, shared, data):
        key = data.draw(st.sampled_from(sorted(self.in_hand)))
        del self.in_hand[key]
        self.queue.again(key, shared=shared)

    @precondition(lambda self: self.in_hand)
    @rule(data=st.data())
    def finish(self, data):
        key = data.draw(st.sampled_from(sorted(self.in_hand)))
        assert self.in_hand[key] >= self.dealt_with.get(key, 0)
        self.dealt_with[key] = self.in_hand.pop(key)
        self.queue.done(key)

    @invariant()
    def what_is_not_dealt_with_is_there(self):
        left = {key for key, value in self.put_last.items() if self.dealt_with.get(key) != value}
        assert len(self.queue) >= len(left)

    def teardown(self):
        for _ in range(200):
            for key in list(self.in_hand):
                self.dealt_with[key] = self.in_hand.pop(key)
                self.queue.done(key)
            self.clock.now_s += 60
            self.take()
        assert self.dealt_with == self.put_last
        assert len(self.queue) == 0


TestNothingIsLost = NothingIsLost.TestCase
