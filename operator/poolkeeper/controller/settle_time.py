"""How long what is declared has been still, so that nothing moves for what is half declared.

Resources arrive one by one. A change of one Topic concerns that Topic alone: until it has settled,
the Topic is placed as it was declared before, and all others go on. Any other change (a Topic more
or less, a pool, the cluster) concerns the whole cluster.

A change has settled when nothing else changed for `settle_s`, and after `SETTLING_MAX_S` in any
case: somebody who edits again and again delays what he edits, and nobody for longer than that. What
counts is the first change that no pass of a running loop has seen settled, so that pauses between
edits win nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock

from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import TopicSpec

SETTLING_MAX_S = 30.0
_PLACE_FIELDS = ("pool", "replication_factor", "strategy", "assignment")


@dataclass(slots=True)
class _ChangeTimes:
    """When the first and the last of several changes came, in seconds."""

    first_s: float
    last_s: float


@dataclass(slots=True)
class _Edit:
    """A Topic whose placement was edited: as it was before, and the edits."""

    before: TopicSpec
    changes: _ChangeTimes


@dataclass(slots=True)
class SettleTime:
    """Which changes of one cluster's declared state have not settled. Thread-safe."""

    settle_s: float
    now_s: Callable[[], float] = time.monotonic
    _whole: _ChangeTimes | None = None
    _edits: dict[str, _Edit] = field(default_factory=dict)
    _passed_s: float = float("-inf")
    _lock: Lock = field(default_factory=Lock)

    def begin(self) -> None:
        """Note that everything is new."""
        with self._lock:
            self._whole = self._later(self._whole)

    def note(self, before: Desired, after: Desired) -> None:
        """Note a change of what is declared."""
        old = {spec.owner: spec for spec in before.topics}
        new = {spec.owner: spec for spec in after.topics}
        with self._lock:
            if old.keys() != new.keys() or _but_topics(before) != _but_topics(after):
                self._whole = self._later(self._whole)
            for owner in old.keys() & new.keys():
                if _place(old[owner]) != _place(new[owner]):
                    known = self._edits.get(owner)
                    settled = old[owner] if known is None else known.before
                    changes = self._later(None if known is None else known.changes)
                    self._edits[owner] = _Edit(settled, changes)

    def _later(self, changes: _ChangeTimes | None) -> _ChangeTimes:
        """Return the changes with one more now; those that a loop at rest slept over are over."""
        now_s = self.now_s()
        slept = changes is not None and self._passed_s < changes.last_s and self._is_still(changes)
        return _ChangeTimes(now_s if changes is None or slept else changes.first_s, now_s)

    @property
    def settling(self) -> bool:
        """Whether anything has not settled."""
        with self._lock:
            return any(not self._is_settled(each) for each in self._all_changes())

    @property
    def due(self) -> bool:
        """Whether a Topic has settled since the last pass."""
        with self._lock:
            return any(self._is_settled(edit.changes) for edit in self._edits.values())

    def begin_pass(self, desired: Desired) -> tuple[Desired, bool]:
        """Return what this pass works towards, and whether the cluster as a whole is settling."""
        with self._lock:
            self._passed_s = self.now_s()
            if self._whole is not None and self._is_settled(self._whole):
                self._whole = None
            for owner in [o for o, e in self._edits.items() if self._is_settled(e.changes)]:
                del self._edits[owner]
            edits = dict(self._edits)
            settling = self._whole is not None
        if not edits:
            return desired, settling
        topics = (
            _placed_as(spec, edits[spec.owner].before) if spec.owner in edits else spec
            for spec in desired.topics
        )
        return replace(desired, topics=tuple(topics)), settling

    def _all_changes(self) -> list[_ChangeTimes]:
        whole = [] if self._whole is None else [self._whole]
        return [*whole, *(edit.changes for edit in self._edits.values())]

    def _is_settled(self, changes: _ChangeTimes) -> bool:
        return self._is_still(changes) or self.now_s() - changes.first_s >= SETTLING_MAX_S

    def _is_still(self, changes: _ChangeTimes) -> bool:
        return self.now_s() - changes.last_s >= self.settle_s


def _but_topics(desired: Desired) -> Desired:
    return replace(desired, topics=())


def _place(spec: TopicSpec) -> tuple[object, ...]:
    return tuple(getattr(spec, name) for name in _PLACE_FIELDS)


def _placed_as(spec: TopicSpec, before: TopicSpec) -> TopicSpec:
    """Return the Topic with the placement that was declared before."""
    return replace(
        spec,
        pool=before.pool,
        replication_factor=before.replication_factor,
        strategy=before.strategy,
        assignment=before.assignment,
    )
