"""Many seeds: what was reached by them, counted, and which of them failed."""

import gc
import traceback
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from os import cpu_count

from simulation.campaign.kinds import Trouble
from simulation.campaign.laws import broken_at_rest, broken_in_all
from simulation.campaign.play import play

BATCH = 250
COLLECT_EVERY = 8


@dataclass(slots=True)
class Tally:
    """The histogram of many seeds; `failures` by seed."""

    seeds: int = 0
    kinds: Counter[Trouble] = field(default_factory=Counter)
    pairs: Counter[frozenset[Trouble]] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    passes: int = 0
    writes: int = 0
    failures: dict[int, str] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        self.seeds += other.seeds
        self.kinds += other.kinds
        self.pairs += other.pairs
        self.ends += other.ends
        self.passes = max(self.passes, other.passes)
        self.writes = max(self.writes, other.writes)
        self.failures |= other.failures

    def text(self) -> str:
        """Return the histogram and the failures, for people."""
        lines = [f"{self.seeds} seeds, at most {self.passes} passes and {self.writes} writes"]
        lines += [f"{self.kinds[kind]:7} {kind}" for kind in Trouble]
        lines += [f"{count:7} ended: {end}" for end, count in self.ends.most_common()]
        lines.append(f"{len(self.pairs):7} pairs of kinds")
        for seed, why in sorted(self.failures.items()):
            lines.append(f"seed {seed}: {why}")
        return "\n".join(lines)


def play_some(seeds: Iterable[int]) -> Tally:
    """Play seeds one after the other; their garbage is collected now and then, nothing older."""
    tally, collects = Tally(), gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        for seed in seeds:
            _add(tally, seed)
            if tally.seeds % COLLECT_EVERY == 0:
                gc.collect()
    finally:
        gc.collect()
        if collects:
            gc.enable()
    return tally


def _add(tally: Tally, seed: int) -> None:
    tally.seeds += 1
    try:
        played = play(seed, broken_at_rest)
        broken = broken_in_all(played)
    except Exception:  # noqa: BLE001 - a bug fails its seed, not the others
        tally.failures[seed] = traceback.format_exc(limit=-6)
        return
    kinds = {kind for _, kind in played.situation.struck}
    tally.kinds.update(kinds)
    tally.pairs.update(frozenset(pair) for pair in combinations(sorted(kinds), 2))
    tally.ends.update(_end(played.ends))
    tally.passes = max(tally.passes, played.loop.passes)
    tally.writes = max(tally.writes, played.loop.writes)
    if broken:
        tally.failures[seed] = "\n".join(broken[:5])


def play_all(seeds: Iterable[int]) -> Tally:
    """Play seeds on all processors."""
    whole, every = Tally(), list(seeds)
    with ProcessPoolExecutor(cpu_count()) as pool:
        batches = [every[at : at + BATCH] for at in range(0, len(every), BATCH)]
        for tally in pool.map(play_some, batches):
            whole.add(tally)
    return whole


def _end(ends: list) -> list[str]:
    return [
        f"{end.state} {sorted({w.reason.value for w in end.waits}) if end.waits else ''}"
        for end in ends
    ]
