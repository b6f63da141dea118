"""Readings that are kept for as long as nothing is written to ZooKeeper.

Every reply of a server names the last transaction that the server had applied when it answered. A
sync lets the server apply all that was committed before. So if a sync answers with transaction Z,
what is read afterwards is the state after Z or a later one; and if the last reply names Z as well,
it is the state after Z, exactly. Once a later sync answers with Z, nothing was written since, by
anybody, anywhere in the ensemble: what was read then is what would be read now.

A session that ends or begins is a transaction too. Pings and reads are none. A server that was
restored from a backup may count up to Z again, but no connection outlives that: what is kept
belongs to one connection.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from poolkeeper.zk.client.session import Moment, Session

Reading = TypeVar("Reading")


class KeptReadings:
    """The last reading of each kind; for one session and one thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[Hashable, tuple[Moment, Any]] = {}

    def read(self, kind: Hashable, read: Callable[[], Reading]) -> Reading:
        """Return what `read` returned for this kind, if nothing was written since; else read."""
        moment = self._session.sync()
        known = self._kept.get(kind)
        if known is not None and known[0] == moment:
            found: Reading = known[1]
            return found
        found = read()
        if self._session.moment == moment:
            self._kept[kind] = moment, found
        else:
            self._kept.pop(kind, None)
        return found
