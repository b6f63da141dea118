"""When throttles count as applied: what brokers say of their rates, and how long they had."""

from dataclasses import replace

import pytest

from poolkeeper.algorithms.throttles import LOG_DIRS_RATE
from poolkeeper.errors import Unavailable
from poolkeeper.model.execution.runs import Health, Phase, RunDocument, Saved
from poolkeeper.planning.run_state.throttling.throttles import REPLICATION_KEYS
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.observe.settling import (
    DENIED_MS,
    LISTS_SETTLE_MS,
    SETTLE_MS,
    Settling,
    settling_of,
)
from unit.reconcile.situations import NOW_MS, PLAN, RUN

RATES = dict.fromkeys(REPLICATION_KEYS)
DOCUMENT = RunDocument(PLAN, Saved({"t": {}}, {1: RATES, 2: RATES, 9: RATES}), Health())


class Brokers:
    """Brokers 1 to 3 that answer as they are told to; 9 is dead."""

    def __init__(self, answers, away=False):
        self.answers, self.away = answers, away
        self.asked = []

    def ids(self):
        if self.away:
            raise Unavailable("nobody answers")
        return (1, 2, 3)

    def throttles_settled(self, brokers, expected):
        assert set(expected.values()) == {"100"}
        self.asked += [(broker, *expected) for broker in brokers]
        return {broker: self.answers[broker] for broker in brokers}


def settled(brokers, age_ms, foreign=(), document=DOCUMENT):
    run = replace(RUN, phase=Phase.THROTTLING, rates=(100,), throttled_ms=NOW_MS - age_ms)
    context = PassContext(None, lambda: NOW_MS, brokers)
    return settling_of(context, run, document, foreign)


IN_FORCE, HIDDEN, DENIED = {1: True, 2: True}, {1: True, 2: None}, {1: True, 2: False}


@pytest.mark.parametrize(
    ("brokers", "needed_ms", "unsettled"),
    [
        pytest.param(None, SETTLE_MS, (), id="they-cannot-be-asked"),
        pytest.param(Brokers({}, away=True), SETTLE_MS, (), id="nobody-answers"),
        pytest.param(Brokers(IN_FORCE), LISTS_SETTLE_MS, (), id="in-force-but-for-the-lists"),
        pytest.param(Brokers(HIDDEN), SETTLE_MS, (), id="one-does-not-show-its-rate"),
        pytest.param(Brokers(DENIED), DENIED_MS, (2,), id="one-says-no"),
    ],
)
def test_settled(brokers, needed_ms, unsettled):
    assert settled(brokers, needed_ms - 1) == Settling(False, unsettled)
    assert settled(brokers, needed_ms) == Settling(True, unsettled)


def test_only_live_brokers_with_our_rate_are_asked():
    brokers = Brokers(IN_FORCE)
    settled(brokers, 0)
    assert brokers.asked == [(1, *RATES), (2, *RATES)]
    brokers.asked.clear()
    settled(brokers, 0, foreign=(2,))
    assert brokers.asked == [(1, *RATES)]


def test_each_broker_is_asked_for_the_rates_that_the_run_sets_there():
    brokers = Brokers(IN_FORCE)
    saved = Saved({}, {1: {LOG_DIRS_RATE: None}, 2: {**RATES, LOG_DIRS_RATE: None}})
    settled(brokers, 0, document=RunDocument(PLAN, saved, Health()))
    assert sorted(brokers.asked) == [(1, LOG_DIRS_RATE), (2, *RATES, LOG_DIRS_RATE)]
