"""What waits until what is declared has settled, and for how long at most."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from builders import cluster_spec, pool_spec, topic_spec
from poolkeeper.controller.settle_time import SETTLING_MAX_S, SettleTime
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import TopicSpec

T, U = topic_spec("t", "p", replication_factor=2), topic_spec("u", "p", replication_factor=2)
BEFORE = Desired(cluster_spec(), (pool_spec("p", 1, 2, 3), pool_spec("q", 4, 5, 6)), (T, U))


class Declared:
    """A declared state that is edited, and the passes that are made for it."""

    def __init__(self, desired: Desired = BEFORE) -> None:
        self.now_s = 1000.0
        self.desired = desired
        self.settle_time = SettleTime(5.0, lambda: self.now_s)

    def change(self, desired: Desired) -> None:
        self.settle_time.note(self.desired, desired)
        self.desired = desired

    def edit(self, **fields: object) -> TopicSpec:
        """Edit Topic t."""
        edited = replace(self.desired.topics[0], **fields)
        self.change(replace(self.desired, topics=(edited, *self.desired.topics[1:])))
        return edited

    def step(self) -> tuple[tuple[TopicSpec, ...], bool]:
        """Make a pass; return the Topics that it works towards, and whether all has to wait."""
        desired, settling = self.settle_time.begin_pass(self.desired)
        return desired.topics, settling


def test_an_edited_topic_is_placed_as_before_until_it_has_settled() -> None:
    declared = Declared()
    edited = declared.edit(pool="q", config={"retention.ms": "1"})
    assert declared.settle_time.settling
    assert declared.step() == ((replace(edited, pool="p"), U), False)
    declared.now_s += 4.9
    assert declared.step() == ((replace(edited, pool="p"), U), False)
    assert not declared.settle_time.due
    declared.now_s += 0.1
    assert declared.settle_time.due
    assert declared.step() == ((edited, U), False)
    assert not declared.settle_time.due
    assert not declared.settle_time.settling


def test_what_does_not_concern_the_placement_does_not_wait() -> None:
    declared = Declared()
    edited = declared.edit(config={"retention.ms": "1"}, partitions=9)
    assert declared.step() == ((edited, U), False)


def test_any_other_change_concerns_the_whole_cluster() -> None:
    for other in (
        replace(BEFORE, topics=(T,)),
        replace(BEFORE, topics=(T, U, topic_spec("v"))),
        replace(BEFORE, pools=BEFORE.pools[:1]),
        replace(BEFORE, cluster=cluster_spec("other")),
    ):
        declared = Declared()
        declared.change(other)
        assert declared.step()[1]
        declared.now_s += 5
        assert not declared.step()[1]


@given(st.lists(st.floats(0.1, 12.0), min_size=1, max_size=60), st.booleans())
def test_nobody_delays_anything_for_longer_than_the_bound(
    pauses_s: list[float], edits_topics: bool
) -> None:
    """Somebody changes things after each pause; a loop makes a pass every second."""
    declared = Declared()
    waiting_since_s: float | None = None
    for number, pause_s in enumerate(pauses_s):
        if edits_topics:
            declared.edit(replication_factor=number % 2 + 2, pool="pq"[number % 2])
        else:
            declared.change(replace(declared.desired, topics=(T,) if number % 2 else (T, U)))
        end_s = declared.now_s + pause_s
        while declared.now_s < end_s:
            topics, settling = declared.step()
            waits = settling or topics != declared.desired.topics
            if not waits:
                waiting_since_s = None
            elif waiting_since_s is None:
                waiting_since_s = declared.now_s
            else:
                assert declared.now_s - waiting_since_s <= SETTLING_MAX_S + 1
            declared.now_s += min(1.0, end_s - declared.now_s)


def test_changes_while_nobody_looks_settle_anew() -> None:
    declared = Declared()
    declared.change(replace(BEFORE, topics=(T,)))
    declared.now_s += 3600
    declared.change(BEFORE)
    assert declared.step()[1]
