"""Faults as people write them: WHAT@WHEN[,for=DURATION].

    broker=7@40%   rack=a@10m,for=20m   disk=3:/d1@25%   slow=5:10Mi@0%
    controller@50%   zookeeper@5m,for=2m   poolkeeper@80%

WHEN is a time since the start, or a part of the time that the run takes without faults. A broker
and a rack come back after `for`, 15 minutes if nothing is said, `for=ever` never; ZooKeeper after
one minute. A slow broker and a failed directory stay so, a slow one for `for` if that is said.
"""

import random
import re
from collections.abc import Iterable, Sequence

from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.model.topology import Cluster
from poolkeeper.rehearsal.cluster_copy.loading import paths_of
from poolkeeper.rehearsal.values import FaultTarget, Rehearsal, RehearsedFault
from poolkeeper.resources.parse.quantities import duration_s, size_bytes
from poolkeeper.text import duration, few

BACK_S = {FaultTarget.BROKER: 900.0, FaultTarget.RACK: 900.0, FaultTarget.ZOOKEEPER: 60.0}
_SHAPE = re.compile(r"([a-z]+)(?:=(.+?))?@([^@,]+?)(?:,?for=([^@,]+))?")
_EXPECTED = "expected WHAT@WHEN[,for=DURATION], such as broker=7@40% or zookeeper@10m,for=2m"
NOTHING_NAMED = (FaultTarget.CONTROLLER, FaultTarget.ZOOKEEPER, FaultTarget.POOLKEEPER)
LASTS_NOT = (FaultTarget.DISK, FaultTarget.CONTROLLER, FaultTarget.POOLKEEPER)


class _Wrong(Exception):
    """What is wrong with one fault."""


def parse(texts: Iterable[str], cluster: Cluster, run_s: float) -> tuple[RehearsedFault, ...]:
    """Read faults for a run of that length; raises InvalidInput with the problems of all."""
    found, wrong = [], []
    for text in texts:
        try:
            found.append(_fault(text, cluster, run_s))
        except _Wrong as why:
            wrong.append(Problem("", 0, f"--fail {text}", str(why)))
    if wrong:
        raise InvalidInput(wrong)
    return tuple(found)


def _fault(text: str, cluster: Cluster, run_s: float) -> RehearsedFault:
    shape = _SHAPE.fullmatch(text.strip())
    if shape is None:
        raise _Wrong(_EXPECTED)
    what, named, when, lasts = shape.groups()
    if what not in list(FaultTarget):
        raise _Wrong(f"{what!r} is no fault (expected one of {', '.join(FaultTarget)})")
    target = FaultTarget(what)
    if (named is None) != (target in NOTHING_NAMED):
        raise _Wrong(f"{what} takes no name" if named else f"name what fails, as in {what}=…@40%")
    brokers, log_dir, rate = _struck(target, named or "", cluster)
    begin_s = _begin_s(when, run_s)
    return RehearsedFault(text, target, begin_s, _lasts_s(target, lasts), brokers, log_dir, rate)


def _struck(target: FaultTarget, named: str, cluster: Cluster) -> tuple[tuple[int, ...], str, int]:
    match target:
        case FaultTarget.BROKER:
            return (_broker(named, cluster),), "", 0
        case FaultTarget.RACK:
            inside = tuple(sorted(b.id for b in cluster.brokers.values() if b.rack == named))
            racks = sorted({b.rack for b in cluster.brokers.values() if b.rack is not None})
            if not inside:
                raise _Wrong(f"there is no rack {named!r} (there are: {few(racks) or 'none'})")
            return inside, "", 0
        case FaultTarget.DISK:
            id_, _, path = named.partition(":")
            broker = _broker(id_, cluster)
            paths = paths_of(cluster.brokers[broker], cluster)
            if path not in paths:
                known = few(paths) or "none is known"
                raise _Wrong(f"broker {broker} has no directory {path!r} (there are: {known})")
            return (broker,), path, 0
        case FaultTarget.SLOW:
            id_, _, rate = named.partition(":")
            return (_broker(id_, cluster),), "", _rate(rate)
        case _:
            return (), "", 0


def _broker(word: str, cluster: Cluster) -> int:
    if not word.isdecimal() or int(word) not in cluster.brokers:
        live = few(sorted(cluster.brokers))
        raise _Wrong(f"there is no broker {word!r} (live: {live})")
    return int(word)


def _rate(word: str) -> int:
    try:
        return size_bytes(word)
    except Refused as wrong:
        raise _Wrong(f"{word!r} is no rate of bytes a second: {wrong}") from wrong


def _begin_s(when: str, run_s: float) -> float:
    part = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", when)
    if part is not None:
        if float(part[1]) > 100:
            raise _Wrong(f"{when} is beyond the run (expected 0% to 100%)")
        return run_s * float(part[1]) / 100
    try:
        begin_s = float(duration_s(when))
    except Refused as wrong:
        raise _Wrong(f"{when!r} is no time ({wrong}; or a part of the run such as 40%)") from wrong
    if begin_s > run_s:
        raise _Wrong(f"{when} is beyond the run, which takes {duration(run_s)}")
    return begin_s


def _lasts_s(target: FaultTarget, lasts: str | None) -> float | None:
    if lasts is None:
        return BACK_S.get(target)
    if target in LASTS_NOT:
        raise _Wrong(f"for={lasts}: a {target.value} fault takes no duration (leave for= out)")
    if lasts == "ever":
        if target is FaultTarget.ZOOKEEPER:
            raise _Wrong("for=ever: say how long ZooKeeper is away")
        return None
    try:
        return float(duration_s(lasts))
    except Refused as wrong:
        raise _Wrong(f"for={lasts} is no duration ({wrong}, or ever)") from wrong


def draw_fault(seed: int, cluster: Cluster, plain: Rehearsal) -> tuple[RehearsedFault, ...]:
    """Draw one fault from a seed, among what the plan uses; always the same for the same seed."""
    dice = random.Random(seed)
    busy = [b.broker for b in plain.brokers if b.copied_in or b.copied_out]
    brokers = busy or sorted(cluster.brokers)
    racks = sorted({r for b in brokers if (r := cluster.brokers[b].rack) is not None})
    kinds = [k for k in FaultTarget if k is not FaultTarget.RACK or racks]
    kind, at = dice.choice(kinds), dice.randrange(1, 100)
    broker: int = dice.choice(brokers)
    text = _drawn_text(dice, kind, broker, racks, cluster)
    return parse([f"{text}@{at}%"], cluster, plain.seconds)


def _drawn_text(
    dice: random.Random, kind: FaultTarget, broker: int, racks: Sequence[str], cluster: Cluster
) -> str:
    match kind:
        case FaultTarget.BROKER:
            return f"broker={broker}"
        case FaultTarget.RACK:
            return f"rack={dice.choice(racks)}"
        case FaultTarget.SLOW:
            return f"slow={broker}:{dice.choice((1, 10, 50))}Mi"
        case FaultTarget.DISK:
            paths = paths_of(cluster.brokers[broker], cluster)
            return f"disk={broker}:{dice.choice(paths)}" if paths else f"broker={broker}"
        case _:
            return kind.value
