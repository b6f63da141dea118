"""A process of Poolkeeper dies at every write that it makes, before the write and after it.

The writes are counted in a run without faults, so that none is left out. For each of them the
scenario is run again with one fault there; another process takes over, and the whole is held
against the run without faults (`courses`, `invariants`). Lost connections and ended sessions are
tried at every write as well, on one release.

`make test` tries every third write of the scenarios of `CLOSELY` and every sixth of the others on
the newest release, and each release on one scenario; each scenario begins at another write, so that
of what all runs write in the same order, each is tried in some of them. `make soak` tries them all
on both sides of Kafka 2.4, and more seeds. A death before a write leaves ZooKeeper as one after the
write before it does: `make test` tries those after a write, and the one before the first;
`make soak` tries the others as well. Losses come in turn in `make test`, another at every second
write; in `make soak` all at each. Troubles drawn from a seed come to each scenario on one release
in `make test`, on the next one with the next scenario; in `make soak` on all.

A failure names its case with the line that runs this case alone.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import pytest

from matrices import in_part, soak
from poolkeeper.sandbox.fake_zookeeper import Call, Fault, FaultKind, Faults, Script, faults
from simulation.courses import Bounds, broken_laws, plain_course, run
from simulation.scenarios import SCENARIOS

DEATHS = {
    "died before": Fault(FaultKind.DIED),
    "died after": Fault(FaultKind.DIED, done=True),
}
LOSSES = {
    "lost before": Fault(FaultKind.LOST),
    "lost after": Fault(FaultKind.LOST, done=True),
    "expired before": Fault(FaultKind.EXPIRED),
    "expired after": Fault(FaultKind.EXPIRED, done=True),
}
FAULTS = DEATHS | LOSSES
NEWEST, MIDDLE, OLDEST = "3.9.2", "2.0.1", "0.10.2.2"
RELEASES = (NEWEST, MIDDLE, OLDEST)
CLOSELY = ("migration", "end of run", "stop")
EVERY, THIRD, SIXTH = 1, 3, 6
CASES = [
    *((name, NEWEST, THIRD if name in CLOSELY else SIXTH) for name in SCENARIOS),
    *(("migration", kafka, SIXTH) for kafka in (MIDDLE, OLDEST)),
    *soak(
        *((name, NEWEST, EVERY) for name in SCENARIOS),
        *((name, MIDDLE, EVERY) for name in SCENARIOS),
        ("migration", OLDEST, EVERY),
    ),
]
DRAWN = [(kafka, 0, len(RELEASES)) for kafka in RELEASES]
"""Releases, seeds, and which scenarios: one of so many, or each."""
# What is lost is a write, and so is taking over; a run that was not recorded to its end is removed,
# what it would write is tried again, and it is recorded once more.
PER_FAULT = Bounds(passes=2, writes=5)
ANY_TROUBLE = (*FAULTS.values(), Fault(FaultKind.DELAYED, delay_ms=700))


OTHERS = [(name, kafka) for name in SCENARIOS for kafka in (MIDDLE, OLDEST)]


@pytest.mark.parametrize(
    ("name", "kafka"), [*((name, NEWEST) for name in SCENARIOS), *in_part(OTHERS, 3)]
)
def test_without_faults_every_law_is_kept_and_the_scenario_is_one(name: str, kafka: str) -> None:
    plain = plain_course(name, kafka)
    written = {path for paths in plain.asked for path in paths}
    assert plain.processes == 1
    assert len(plain.asked) == plain.writes
    assert set(SCENARIOS[name].writes) <= written
    assert broken_laws(plain, plain, PER_FAULT) == []


@pytest.mark.parametrize(("name", "kafka", "step"), CASES)
def test_a_process_may_die_at_every_write(name: str, kafka: str, step: int) -> None:
    assert check(name, kafka, 1, "died before") == 2
    first = 1 + [*SCENARIOS].index(name) % step
    for number in range(first, plain_course(name, kafka).writes + 1, step):
        assert check(name, kafka, number, "died after") == 2


@pytest.mark.soak
@pytest.mark.parametrize(("name", "kafka"), [(name, NEWEST) for name in SCENARIOS])
def test_a_process_may_die_before_every_write(name: str, kafka: str) -> None:
    for number in range(2, plain_course(name, kafka).writes + 1):
        assert check(name, kafka, number, "died before") == 2


LOSING = ("end of run", "partitions and config", "migration")


@pytest.mark.parametrize("name", LOSING[:2])
def test_a_connection_or_a_session_may_be_lost_at_a_write(name: str) -> None:
    troubles = cycle(LOSSES)
    for number in range(1, plain_course(name, NEWEST).writes + 1, 2):
        check(name, NEWEST, number, next(troubles))


@pytest.mark.soak
@pytest.mark.parametrize("name", LOSING)
def test_a_connection_or_a_session_may_be_lost_at_every_write(name: str) -> None:
    for number in range(1, plain_course(name, NEWEST).writes + 1):
        for trouble in LOSSES:
            check(name, NEWEST, number, trouble)


def drawn(seeds: int) -> list[Any]:
    """Return what is drawn: in `make soak` so many seeds on all releases."""
    return [*DRAWN, *soak(*((kafka, seed, 1) for kafka in RELEASES for seed in range(seeds)))]


@pytest.mark.parametrize(("kafka", "seed", "step"), drawn(6))
def test_any_trouble_at_any_time_is_lived_through(kafka: str, seed: int, step: int) -> None:
    for name in chosen(kafka, step):
        check_seed(name, kafka, seed)


@pytest.mark.parametrize(("kafka", "seed", "step"), drawn(4))
def test_one_process_after_the_other_may_die(kafka: str, seed: int, step: int) -> None:
    for name in chosen(kafka, step):
        check_deaths(name, kafka, seed)


def chosen(kafka: str, step: int) -> list[str]:
    """Return one of so many scenarios, others on another release."""
    return [*SCENARIOS][RELEASES.index(kafka) % step :: step]


def check(name: str, kafka: str, number: int, trouble: str) -> int:
    """Run one case; return how many processes it took."""
    plan = faults.at_writes({number: FAULTS[trouble]})
    with named(f"check({name!r}, {kafka!r}, {number}, {trouble!r})"):
        return lawful(name, kafka, lambda n: faults.none if n else plan)


def check_seed(name: str, kafka: str, seed: int) -> int:
    """Run one case of faults drawn from a seed; return how many processes it took."""
    plan = Script(seed, rate=0.02, writes=ANY_TROUBLE).plan()
    with named(f"check_seed({name!r}, {kafka!r}, {seed})"):
        return lawful(name, kafka, lambda _: plan)


def check_deaths(name: str, kafka: str, seed: int) -> int:
    """Run one case in which every tenth write ends its process."""
    dice = random.Random(seed)

    def plan(call: Call) -> Fault | None:
        dies = call.write and dice.random() < 0.1
        return dice.choice(tuple(DEATHS.values())) if dies else None

    with named(f"check_deaths({name!r}, {kafka!r}, {seed})"):
        return lawful(name, kafka, lambda _: plan)


def lawful(name: str, kafka: str, plans: Callable[[int], Faults]) -> int:
    """Run a case and hold it against the run without faults."""
    course = run(name, kafka, plans)
    broken = broken_laws(course, plain_course(name, kafka), PER_FAULT)
    assert not broken, "\n".join(broken)
    return course.processes


@contextmanager
def named(call: str) -> Iterator[None]:
    """Tell of a failure how to run its case alone, from the root of the repository."""
    try:
        yield
    except Exception as failure:
        line = f"from simulation import test_crashes as t; t.{call}"
        failure.add_note(f'replay: PYTHONPATH=tests .venv/bin/python -c "{line}"')
        raise
