"""When copies between log directories count as stalled."""

import pytest

from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyProgress, CopyState
from poolkeeper.planning.run_state.progress.stalled_copies import (
    STALLED_MS,
    UNSEEN_MS,
    CopyLook,
    after_look,
    stalled_copies,
)

STEPS = tuple(MoveLogDir("t", p, broker, "/a", "/b", 10) for p, broker in enumerate((1, 1, 2)))
NAMES = tuple(step.name for step in STEPS)
F, D, AWAY = CopyState.IN_FLIGHT, CopyState.DONE, CopyState.AWAY
KNOWN = {1: CopyLook({NAMES[0]: 5, NAMES[1]: 6}, 100, 900)}


def looked(*found, now_ms=1000, before=KNOWN):
    """What is known after a look; `found`: a state and the size of its future log for each."""
    progress = [CopyProgress(state) for state, _ in found]
    sizes = {
        (step.name, step.broker): size
        for step, (_, size) in zip(STEPS, found, strict=False)
        if size
    }
    return after_look(before, STEPS[: len(found)], progress, sizes, now_ms)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            ((F, 5), (F, 6)), {1: CopyLook({NAMES[0]: 5, NAMES[1]: 6}, 100, 1000)}, id="none-grows"
        ),
        pytest.param(
            ((F, 5), (F, 7)), {1: CopyLook({NAMES[0]: 5, NAMES[1]: 7}, 1000, 1000)}, id="one-grows"
        ),
        pytest.param(((F, 5), (D, 0)), {1: CopyLook({NAMES[0]: 5}, 1000, 1000)}, id="one-arrived"),
        pytest.param(((AWAY, 0), (AWAY, 0)), {}, id="the-broker-is-away"),
        pytest.param(
            ((D, 0), (D, 0), (F, 3)), {2: CopyLook({NAMES[2]: 3}, 1000, 1000)}, id="another-broker"
        ),
    ],
)
def test_since_when_nothing_is_copied(found, expected):
    assert looked(*found) == expected


def test_what_happened_while_nobody_looked_is_not_known():
    later = KNOWN[1].seen_ms + UNSEEN_MS
    assert looked((F, 5), (F, 6), now_ms=later)[1].since_ms == 100
    assert looked((F, 5), (F, 6), now_ms=later + 1)[1].since_ms == later + 1


@pytest.mark.parametrize(
    ("lasting_ms", "rates", "expected"),
    [
        pytest.param(STALLED_MS, (), (0,), id="no-rate"),
        pytest.param(STALLED_MS - 1, (), (), id="not-long-enough"),
        pytest.param(STALLED_MS, (50 * 2**20,), (0,), id="a-usual-rate"),
        pytest.param(STALLED_MS, (50 * 2**20, 1024), (), id="a-low-rate-is-being-left"),
        pytest.param(4 * 1024 * 1000, (1024,), (0,), id="at-a-low-rate"),
        pytest.param(10 * 24 * 3_600_000, (1,), (), id="frozen"),
    ],
)
def test_when_copies_have_stalled(lasting_ms, rates, expected):
    looks = {
        1: CopyLook({NAMES[0]: 5}, 0, lasting_ms),
        2: CopyLook({NAMES[2]: 5, TopicPartition("u", 0): 1}, lasting_ms, lasting_ms),
    }
    assert stalled_copies(looks, STEPS, rates) == expected
