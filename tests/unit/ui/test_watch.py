"""One look for all who watch: shared, paced, none when nobody watches, and again after failures."""

import logging
import time
from collections.abc import Callable, Iterator
from threading import Event, Thread

import pytest

from conditions import until
from poolkeeper.errors import PoolkeeperError, Unavailable
from poolkeeper.ui import watch
from poolkeeper.ui.watch import Looking, Seen, SharedLook

IDLE_S = 0.2


class Clock:
    """The real one, and as much ahead as a test says."""

    ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


class Looks:
    """Counts looks, and raises what it is told to."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.times: list[float] = []
        self.rests = 0
        self.error: Exception | None = None
        self.go_on = Event()
        self.go_on.set()

    def look(self) -> int:
        self.times.append(self.clock())
        assert self.go_on.wait(30)
        if self.error is not None:
            raise self.error
        return len(self.times)

    def rest(self) -> None:
        self.rests += 1


Made = Callable[..., SharedLook[int]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def looks(clock: Clock) -> Looks:
    return Looks(clock)


@pytest.fixture
def watching(looks: Looks) -> Iterator[Made]:
    made: list[SharedLook[int]] = []

    def make(every_s: float = 0.01, idle_s: float = IDLE_S) -> SharedLook[int]:
        made.append(
            SharedLook(Looking(looks.look, looks.rest), every_s, "a test", idle_s, looks.clock)
        )
        return made[-1]

    yield make
    looks.go_on.set()
    for each in made:
        each.close(30)


def what(seen: Seen[int]) -> tuple[int, int | None, str]:
    return seen.number, seen.value, seen.trouble


def test_before_anybody_wants_to_know_nothing_is_looked_at(watching: Made, looks: Looks) -> None:
    watching()
    assert looks.times == []


def test_what_is_seen_is_there_at_once_and_news_are_waited_for(
    watching: Made, looks: Looks
) -> None:
    made = watching()
    looks.go_on.clear()
    assert what(made.seen()) == (0, None, "")
    assert what(made.newer(0, 0.01)) == (0, None, "")
    looks.go_on.set()
    assert what(made.newer(0, 30)) == (1, 1, "")
    assert made.newer(1, 30).number >= 2


def test_many_who_watch_share_the_looks(watching: Made, looks: Looks) -> None:
    made = watching(every_s=60, idle_s=60)
    found: list[Seen[int]] = []
    viewers = [Thread(target=lambda: found.append(made.newer(0, 30))) for _ in range(20)]
    for each in viewers:
        each.start()
    for each in viewers:
        each.join(30)
    assert [what(each) for each in found] == [(1, 1, "")] * 20
    assert len(looks.times) == 1


def test_between_two_looks_is_the_pace(watching: Made, looks: Looks) -> None:
    made = watching(every_s=0.05)
    made.newer(3, 30)
    waited = [b - a for a, b in zip(looks.times, looks.times[1:], strict=False)]
    assert min(waited) >= 0.05


@pytest.mark.slow
def test_a_long_look_is_followed_by_a_rest(watching: Made, looks: Looks, clock: Clock) -> None:
    made = watching(every_s=0)
    looks.go_on.clear()
    made.seen()
    until(lambda: looks.times, "a look has begun")
    clock.ahead_s += 5  # this look takes so long
    looks.go_on.set()

    def is_there_another() -> bool:
        clock.ahead_s += 0.5
        return made.newer(1, 0).number > 1

    until(is_there_another, "another look", 60)
    assert looks.times[1] - looks.times[0] >= 10


def test_when_nobody_watches_any_more_it_rests_and_comes_back(watching: Made, looks: Looks) -> None:
    made = watching()
    made.newer(0, 30)
    until(lambda: not made.looking, "it has stopped", 30)
    many = len(looks.times)
    assert looks.rests == 1
    assert made.seen().number == many
    assert made.newer(many, 30).number == many + 1


def test_who_comes_after_a_while_waits_for_a_look(watching: Made, clock: Clock) -> None:
    made = watching()
    before = made.newer(0, 30)
    until(lambda: not made.looking, "it has stopped", 30)
    clock.ahead_s += 3600
    assert made.fresh(30).number > before.number


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        pytest.param(Unavailable("zk:2181 does not answer"), "zk:2181 does not answer", id="away"),
        pytest.param(KeyError("a defect"), watch.FAILED, id="a-defect"),
    ],
)
def test_what_was_seen_stays_while_a_look_fails_and_the_next_one_may_see(
    watching: Made,
    looks: Looks,
    error: Exception,
    trouble: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = watching()
    first = made.newer(0, 30)
    with caplog.at_level(logging.ERROR):
        looks.error = error
        failed = made.newer(made.seen().number + 1, 30)
    assert failed.trouble == trouble
    assert failed.value is not None
    assert failed.value >= first.value
    assert bool(caplog.records) is not isinstance(error, PoolkeeperError)
    looks.error = None
    again = made.newer(made.seen().number + 1, 30)
    assert (again.trouble, again.value) == ("", again.number)
    assert again.value_ms == again.at_ms


def test_a_closed_watch_wakes_who_waits_and_looks_no_more(watching: Made, looks: Looks) -> None:
    made = watching(every_s=60, idle_s=60)
    made.newer(0, 30)
    woken: list[Seen[int]] = []
    waiting = Thread(target=lambda: woken.append(made.newer(1, 60)))
    waiting.start()
    made.close(30)
    waiting.join(30)
    assert [what(each) for each in woken] == [(1, 1, "")]
    made.seen()
    assert (len(looks.times), looks.rests, made.looking) == (1, 1, False)
