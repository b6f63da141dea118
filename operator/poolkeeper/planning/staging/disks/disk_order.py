"""In which order replicas may be copied to disks that cannot take all of them at once.

A step copies first and deletes afterwards: it needs space on every broker that it adds, and frees
space on every broker that it leaves. In an arbitrary order, steps can fill the space that others
need to get out of their way. Then no step can go any more, although another order would work.

The *slack* of a broker is its free bytes less all bytes that are still to come. A step leaves the
slack of a broker that it adds as it is (space and need shrink together), and raises that of a
broker that it leaves. So slack only grows, whatever the order. With a slack of at least zero a
broker is *loose*: it can take all that comes. This settles two kinds of steps:

* A step that adds only loose brokers goes *first*: it takes no space that others need.
* A step that leaves only loose brokers goes *last*: no step waits for the space that it frees, and
  before it the others have more space. Their need shrinks by it, which may make more brokers loose.

The remaining steps run between brokers that are not loose. A search orders them, and prefers steps
that free most of the space that is lacking. While few steps remain it backtracks: then it finds an
order if there is one. Steps that heal are ordered before all others, as nothing may delay them.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from poolkeeper.model.topology import Replicas

_SINGLE_MAX = 200
"""Up to so many steps are chosen one by one, with ways back; of more, all that fit at once."""

_TRIES_MAX = 2_000
"""Choices that are made until the search gives up."""


class CopyStep(NamedTuple):
    """A step as disks see it: `size` bytes to each of `into`, then `freed` on each of `out_of`.

    It is the step to list `step` of the path of move `move`. Brokers of unknown disk are left out,
    and so is `into` if there is nothing to copy.
    """

    move: int
    step: int
    into: Replicas
    out_of: Replicas
    size: int
    freed: int
    heals: bool = False


class CopyOrder(NamedTuple):
    """Steps in an order in which each finds space, those that find none, and what is free then."""

    steps: tuple[CopyStep, ...]
    blocked: tuple[CopyStep, ...]
    free: Mapping[int, int]


Chains = Sequence[Sequence[CopyStep]]
"""The steps of each move, which follow each other."""


def order(chains: Chains, free: Mapping[int, int], tries_max: int = _TRIES_MAX) -> CopyOrder:
    """An order of as many steps as possible; `free`: bytes by broker.

    With few steps between brokers that are not loose, the order leaves out steps only if no order
    has space for all of them (for those that heal first, and then for the rest). With many steps,
    it may miss an order.
    """
    whole = [chain for chain in chains if chain]
    healing = [chain for chain in whole if _heals(chain)]
    others = [chain for chain in whole if not _heals(chain)]
    steps: list[CopyStep] = []
    left: Chains = ()
    for more in (healing, others) if healing else (others,):
        found = _search([*left, *more], free, tries_max)
        steps += found.steps
        left, free = _remaining([*left, *more], found.steps), found.free
    return CopyOrder(tuple(steps), tuple(itertools.chain.from_iterable(left)), free)


def _heals(chain: Sequence[CopyStep]) -> bool:
    return all(step.heals for step in chain)


def _remaining(chains: Chains, done: Iterable[CopyStep]) -> list[Sequence[CopyStep]]:
    count = Counter(step.move for step in done)
    return [c[count[c[0].move] :] for c in chains if len(c) > count[c[0].move]]


def tight(chains: Chains, free: Mapping[int, int]) -> dict[int, int]:
    """Brokers that are not loose, and the bytes that they lack to be loose."""
    wanted: Counter[int] = Counter()
    for chain in chains:
        for step in chain:
            for broker in step.into:
                wanted[broker] += step.size
    return {b: n - free[b] for b, n in sorted(wanted.items()) if n > free[b]}


@dataclass(slots=True)
class _State:
    """The state of a search; `spans[i]`: the steps left in the middle of chain i."""

    chains: Chains
    spans: dict[int, tuple[int, int]]
    free: dict[int, int]
    lacking: dict[int, int]
    first: list[CopyStep]
    last: list[CopyStep]

    def copy(self) -> "_State":
        return _State(
            self.chains,
            dict(self.spans),
            dict(self.free),
            dict(self.lacking),
            list(self.first),
            list(self.last),
        )

    @property
    def name(self) -> frozenset[tuple[int, int]]:
        """How far each chain is; equal states have equal names."""
        return frozenset((index, low) for index, (low, _) in self.spans.items())

    def fits(self, step: CopyStep) -> bool:
        """Whether there is space for the step now."""
        return all(self.free[broker] >= step.size for broker in step.into)

    def go(self, index: int) -> None:
        """Do the next step of a chain."""
        low, high = self.spans.pop(index)
        if low + 1 < high:
            self.spans[index] = low + 1, high
        step = self.chains[index][low]
        self.first.append(step)
        for broker in step.into:
            self.free[broker] -= step.size
        for broker in step.out_of:
            self.free[broker] += step.freed
            self._gain(broker, step.freed)

    def _gain(self, broker: int, size: int) -> None:
        if broker in self.lacking:
            self.lacking[broker] -= size
            if self.lacking[broker] <= 0:
                del self.lacking[broker]

    def _postpone(self, index: int) -> None:
        """Put the final step of a chain last."""
        low, high = self.spans.pop(index)
        if low + 1 < high:
            self.spans[index] = low, high - 1
        step = self.chains[index][high - 1]
        self.last.append(step)
        for broker in step.into:
            self._gain(broker, step.size)

    def peel(self) -> None:
        """Order all steps that go first or last without a choice."""
        loosened = True
        while loosened and self.spans:
            before = len(self.lacking)
            for index in list(self.spans):
                self._peel_one(index)
            loosened = len(self.lacking) < before

    def _peel_one(self, index: int) -> None:
        chain, lacking = self.chains[index], self.lacking
        while index in self.spans and lacking.keys().isdisjoint(chain[self.spans[index][0]].into):
            self.go(index)
        while index in self.spans:
            if not lacking.keys().isdisjoint(chain[self.spans[index][1] - 1].out_of):
                break
            self._postpone(index)

    def choices(self) -> list[int]:
        """The chains whose next step has space now, the most helpful first."""
        found = []
        for index, (low, _) in self.spans.items():
            step = self.chains[index][low]
            if self.fits(step):
                helped = sum(min(step.freed, self.lacking.get(b, 0)) for b in step.out_of)
                found.append((-helped, step.size, index))
        return [index for _, _, index in sorted(found)]


def _search(chains: Chains, free: Mapping[int, int], tries_max: int) -> CopyOrder:
    spans = {index: (0, len(chain)) for index, chain in enumerate(chains)}
    open_ = [_State(chains, spans, dict(free), tight(chains, free), [], [])]
    best: CopyOrder | None = None
    seen: set[frozenset[tuple[int, int]]] = set()
    for _ in range(tries_max):
        if not open_:
            break
        state = open_.pop()
        state.peel()
        name = state.name
        if name in seen:
            continue
        seen.add(name)
        after = _after(state, state.choices())
        open_ += after
        if not after:
            found = _complete(state, free)
            if best is None or len(found.steps) > len(best.steps):
                best = found
            if not found.blocked:
                break
    return best or _complete(open_.pop(), free)


def _after(state: _State, choices: Sequence[int]) -> list[_State]:
    """The states to search next, the most promising last; none if no step has space."""
    if choices and len(state.spans) > _SINGLE_MAX:
        for index in choices:
            if state.fits(state.chains[index][state.spans[index][0]]):
                state.go(index)
        return [state]
    found = []
    for index in reversed(choices):
        after = state.copy()
        after.go(index)
        found.append(after)
    return found


def _complete(state: _State, free: Mapping[int, int]) -> CopyOrder:
    """The order that a search found, and all other steps that still find space."""
    total = {index: (0, len(chain)) for index, chain in enumerate(state.chains)}
    played = _State(state.chains, total, dict(free), {}, [], [])
    index_of = {chain[0].move: index for index, chain in enumerate(state.chains)}
    waiting = [index_of[step.move] for step in (*state.first, *reversed(state.last))]
    waiting += [index for index, (low, high) in state.spans.items() for _ in range(low, high)]
    went = True
    while went and waiting:
        went, held = False, []
        for index in waiting:
            if played.fits(state.chains[index][played.spans[index][0]]):
                played.go(index)
                went = True
            else:
                held.append(index)
        waiting = held
    blocked = (
        step for index, (low, _) in played.spans.items() for step in state.chains[index][low:]
    )
    return CopyOrder(tuple(played.first), tuple(blocked), played.free)
