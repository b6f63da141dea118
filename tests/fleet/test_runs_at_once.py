"""Runs over one lake at once: what each of them publishes counts, whoever comes between."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from builders import cluster_spec
from fleet.in_process import InProcess
from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines.results import ClusterOutcome
from poolkeeper.fleet.lake import entries, manifests, versions
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.lake.objects import Objects, StoredObject
from poolkeeper.fleet.stages.publishing import PLAN, Step, make_and_publish
from poolkeeper.fleet.storage import schemas
from poolkeeper.model.desired import Desired

DAY = "2026-03-01"
NOW_MS = 1_772_323_200_000
Act = Callable[[], None]


@dataclass
class Interrupted:
    """`Objects` of a process; others act once just before or after it puts what counts."""

    objects: Objects
    folder: str
    before: list[Act]
    after: list[Act]

    @property
    def root(self) -> str:
        return self.objects.root

    def read(self, path: str) -> bytes | None:
        return self.objects.read(path)

    def put(self, path: str, body: bytes) -> None:
        counts = path.startswith(self.folder)
        if counts and self.before:
            self.before.pop()()
        self.objects.put(path, body)
        if counts and self.after:
            self.after.pop()()

    def children(self, path: str) -> list[StoredObject]:
        return self.objects.children(path)

    def files(self, path: str) -> list[StoredObject]:
        return self.objects.files(path)

    def delete(self, path: str) -> None:
        self.objects.delete(path)


def interrupted(lake: Lake, folder: str, moment: str, *acts: Act) -> Lake:
    before, after = (list(acts) if moment == each else [] for each in ("before", "after"))
    return at(replace(lake, objects=Interrupted(lake.objects, folder, before, after)), 0)


def at(lake: Lake, ms: int) -> Lake:
    """The lake to a process with a clock of its own."""
    return replace(lake, now_ms=lambda: NOW_MS + ms)


def begun(lake: Lake) -> StepRun:
    return lake.begin(PLAN, DAY, (schemas.PLANS,))


def entry(cluster: str, run: StepRun) -> ClusterEntry:
    return ClusterEntry(cluster, run.id, "sha256:1")


def runs_of(lake: Lake) -> dict[str, str]:
    return {name: each.run for name, each in lake.current(PLAN, DAY).items()}


def test_a_run_that_ends_while_another_one_works(lake: Lake) -> None:
    engine = InProcess()
    ids: list[str] = []

    def made(run: StepRun, names: Sequence[str]) -> list[ClusterOutcome]:
        ids.append(run.id)
        return [ClusterOutcome(name) for name in names]

    def slowly(run: StepRun, names: Sequence[str]) -> list[ClusterOutcome]:
        make_and_publish(Step(engine, lake, PLAN, DAY, {"b": "2", "both": "2"}), made)
        return made(run, names)

    make_and_publish(Step(engine, lake, PLAN, DAY, {"old": "0", "both": "0"}), made)
    make_and_publish(Step(engine, lake, PLAN, DAY, {"a": "1", "both": "1"}), slowly)
    old, quick, slow = ids
    assert runs_of(lake) == {"a": slow, "b": quick, "both": slow, "old": old}
    assert lake.objects.children("runs") == []


@pytest.mark.parametrize("clock_ms", [-5, 0, 5], ids=["behind", "the-same", "ahead"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_run_that_publishes_while_another_one_does(
    moment: str, clock_ms: int, lake: Lake
) -> None:
    first, second, third = begun(lake), begun(lake), begun(lake)
    at(lake, -9000).publish(first, [entry("old", first)])
    stale = lake.current(PLAN, DAY)

    def come_between() -> None:
        """As if the other one had not seen this one's version."""
        rows = {**stale, "b": entry("b", third)}
        name = f"current/step={PLAN}/day={DAY}/{NOW_MS + clock_ms:015d}.parquet"
        lake.objects.put(name, entries.to_bytes(rows.values(), NOW_MS + clock_ms))

    own = interrupted(lake, f"current/step={PLAN}", moment, come_between)
    own.publish(second, [entry("a", second)])
    wanted = {"a": second.id, "old": first.id}
    if (moment, clock_ms) != ("before", 0):  # of one name: it has overwritten what nobody saw
        wanted["b"] = third.id
    assert runs_of(lake) == wanted


@pytest.mark.parametrize(("clock_ms", "counts"), [(-5, "second"), (5, "third")])
def test_of_a_cluster_that_both_make_the_later_publication_counts(
    clock_ms: int, counts: str, lake: Lake
) -> None:
    runs = {name: begun(lake) for name in ("second", "third")}

    def come_between() -> None:
        rows = [entry("both", runs["third"]), entry("b", runs["third"])]
        name = f"current/step={PLAN}/day={DAY}/{NOW_MS + clock_ms:015d}.parquet"
        lake.objects.put(name, entries.to_bytes(rows, NOW_MS + clock_ms))

    own = interrupted(lake, f"current/step={PLAN}", "after", come_between)
    own.publish(runs["second"], [entry("both", runs["second"]), entry("a", runs["second"])])
    assert runs_of(lake) == {
        "a": runs["second"].id,
        "b": runs["third"].id,
        "both": runs[counts].id,
    }


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_cluster_that_is_forgotten_while_a_run_publishes(moment: str, lake: Lake) -> None:
    first, second = begun(lake), begun(lake)
    at(lake, -9000).publish(first, [entry("a", first), entry("gone", first)])

    def forget() -> None:
        at(lake, 5).drop(PLAN, DAY, ["gone"], (schemas.PLANS,))

    interrupted(lake, f"current/step={PLAN}", moment, forget).publish(second, [entry("b", second)])
    assert runs_of(lake) == {"a": first.id, "b": second.id}


def test_others_that_publish_again_and_again_are_told(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = itertools.count()  # at random, one of a thousand names would be that of another
    monkeypatch.setattr(versions.secrets, "randbelow", lambda bound: next(steps) % bound)
    run = begun(lake)

    def publish(number: int) -> Act:
        return lambda: at(lake, 9).publish(run, [entry(f"c{number}", run)])

    acts = [publish(number) for number in range(versions.TRIES)]
    own = interrupted(lake, f"current/step={PLAN}", "before", *acts)
    with pytest.raises(Unavailable, match=r"day=2026-03-01: others have published 10 times"):
        own.publish(run, [entry("a", run)])


@pytest.mark.parametrize("clock_ms", [-5, 5], ids=["behind", "ahead"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_manifests_of_two_at_once(moment: str, clock_ms: int, lake: Lake) -> None:
    first, second, third = (Desired(cluster_spec(name)) for name in ("old", "a", "b"))
    manifests.write(at(lake, -9000), [first])

    def come_between() -> None:
        manifests.write(at(lake, clock_ms), [third])

    manifests.write(interrupted(lake, "manifests", moment, come_between), [second])
    assert sorted(manifests.read(lake)) == ["a", "b", "old"]
