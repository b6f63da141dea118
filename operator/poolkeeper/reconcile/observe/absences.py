"""When a missing broker counts as lost: by what was seen of its absence, not by its age.

A broker that is down has no node in ZooKeeper, and one that was up for a while leaves no trace. So
that it was missing yesterday and is missing now says nothing of the time between, and after a cold
start every broker is missing while it boots. To rebuild it then costs terabytes of copies. All
there is are *looks*: moments at which an executor found the broker missing. They are recorded.

Looks that follow each other by at most `close_s` are close: the broker was missing from one to the
next. A longer time is a *gap*, of which nobody knows anything. A broker is lost once it is missing
for `heal.after`, and either

* close looks covered `heal.after` without a gap: a loop that runs sees this, and one that was
  started again watches for `heal.after` first; or
* there were `GAPS` gaps, with no more than a few close looks beside each: nobody looks more often.
  A command that runs once an hour finds a broker missing for the third time.

A loop that looks closely is never taken for the latter: looks that cover `close_s` make it forget
the gaps before. A restart that takes less than `close_s` is no gap.

While more brokers are missing than `heal` replaces (`outages`), an absence is part of an outage and
tells nothing of this broker: the others may return sooner only because they boot faster. An outage
stops the count, and one of more than `close_s` starts it over.

A broker that is lost stays so until it is seen again, whatever gaps and outages follow: the run
that rebuilds it goes on when it is taken up. Where `heal.after` was made longer, its age has to
reach that as well.

An absence without looks was recorded by an earlier release, or while `heal` was off or had nothing
to do with the broker. It counts by its age, as it did then: a recorded run may be about it.

Failed log directories count by their age. A live broker tells of them at each look, and only its
restart mends them.
"""

from dataclasses import replace

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.records import BrokerRecord, Looks

CLOSE_S_MIN = 60
"""Twice what a loop rests without news."""
CLOSE_S_MAX = 300
GAPS = 2
WRITES_PER_CLOSE_S = 3


@frozen
class Counting:
    """How an absence is counted: what `heal.after` says, and whether there is an outage now."""

    after_s: int
    in_outage: bool = False


def close_s(after_s: int) -> int:
    """Return how far apart looks may be of which the later tells that nothing was between.

    Half of `heal.after`, but at least 60 s and at most 5 minutes: 300 for the default of 30 min.
    """
    return max(CLOSE_S_MIN, min(CLOSE_S_MAX, after_s // 2))


def seen_missing(known: BrokerRecord, now_s: int, counting: Counting | None) -> BrokerRecord:
    """Return the record of a broker that is missing at this look.

    `counting`: None where `heal` has nothing to do with it. The record is the same as before, and
    need not be written, while it tells enough: until a third of `close_s` has passed.
    """
    # A time ahead is that of a wrong clock.
    since_s = now_s if known.missing_since_s is None else min(known.missing_since_s, now_s)
    missing = replace(known, missing_since_s=since_s, looks=None)
    if counting is None:
        return missing
    if known.missing_since_s is None:
        return replace(missing, looks=Looks(now_s, in_outage=counting.in_outage))
    age_s = now_s - since_s
    if known.looks is None:
        lost = age_s >= counting.after_s and not counting.in_outage
        return replace(missing, looks=Looks(now_s, in_outage=counting.in_outage, lost=lost))
    return replace(missing, looks=_after_look(known.looks, now_s, age_s, counting))


def _after_look(looks: Looks, now_s: int, age_s: int, counting: Counting) -> Looks:
    """Return what is known after one more look, at which the broker is missing for `age_s`."""
    if looks.lost:
        return looks
    since_look_s, close = now_s - looks.last_s, close_s(counting.after_s)
    if counting.in_outage:
        return looks if looks.in_outage else replace(looks, last_s=now_s, in_outage=True)
    if looks.in_outage:
        return Looks(now_s, looks.watched_s if since_look_s <= close else 0)
    if since_look_s < 0:  # the clock was set back
        return replace(looks, last_s=now_s)
    if since_look_s > close:
        found = Looks(now_s, 0, looks.gaps + 1)
    else:
        watched_s = looks.watched_s + since_look_s
        found = Looks(now_s, watched_s, looks.gaps if watched_s < close else 0)
    seen = found.watched_s >= counting.after_s or found.gaps >= GAPS
    if seen and age_s >= counting.after_s:
        return replace(found, lost=True)
    return looks if 0 <= since_look_s < close / WRITES_PER_CLOSE_S else found


def is_lost(record: BrokerRecord, now_s: int, after_s: int) -> bool:
    """Whether a broker counts as lost, as far as is recorded."""
    if record.missing_since_s is None or now_s - record.missing_since_s < after_s:
        return False
    return record.looks is None or record.looks.lost
