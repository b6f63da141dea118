"""What counts, by cluster, as versions of one small object; the largest number counts.

    FOLDER/000001772323200000.parquet     a version, named after when it was published

A change is made to the version that counts then, and put as a version of its own. Other names in
the folder are somebody else's, and left alone. One without rows takes those before it away, as does
any one those that are damaged: who asks by SQL (`views`) sees versions by their rows alone, and
nothing where one of the files cannot be read.

**Two at once.** Not every store can put an object only if no other has come. So whoever has put a
version reads it again and lists the folder. A version that was not there when the change was made
is of another process, which may not have seen this one: what it has changed is taken over, and all
of it is put again. Both put before they look, so that of two the one that looks last finds the
other. Of a cluster that both have changed, the version that was published later counts.

What remains: until the second version is there, readers see the first without it. Who is killed
between putting and looking hides what another has put since the change was made. Two that put in
the same millisecond have one name, and where a rename overwrites, the first may have looked before
the second is there.
"""

import contextlib
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.objects import Objects, StoredObject
from poolkeeper.frozen import frozen

Row = TypeVar("Row")
SUFFIX = ".parquet"
TRIES = 10
"""How often a change is put while others publish."""
SPREAD_MS = 1000
"""How far apart those may be whose clocks are behind: of one name, one would replace the other."""
NAME = "[0-9]{15}[.]parquet"
"""The name of a version, for Python and for SQL."""
_NAME = re.compile(NAME)
_LAST = 10**15 - 1


def list_versions(objects: Objects, folder: str) -> list[StoredObject]:
    """The versions in a folder, ascending."""
    found = objects.children(folder)
    return [each for each in found if _NAME.fullmatch(each.name) and not each.is_folder]


@frozen
class RowVersions(Generic[Row]):
    """The versions in a folder.

    `from_bytes`: the rows of a body by cluster, given its path too; raises `DamagedFile`.
    `to_bytes`: the body of rows by cluster that are published at a time.
    `now_ms`: returns the time.
    """

    objects: Objects
    folder: str
    from_bytes: Callable[[bytes, str], dict[str, Row]]
    to_bytes: Callable[[Mapping[str, Row], int], bytes]
    now_ms: Callable[[], int]

    def current(self) -> dict[str, Row]:
        """What counts; empty where there is nothing. Raises `DamagedFile`."""
        for _ in range(TRIES - 1):
            with contextlib.suppress(_Swept):  # since it was listed: another one counts by now
                return self._last()
        return self._last()

    def _last(self) -> dict[str, Row]:
        versions = list_versions(self.objects, self.folder)
        return self._rows(versions[-1]) if versions else {}

    def readable(self) -> dict[str, Row]:
        """The latest version that can be read, from which the next one is made."""
        return self._readable(list_versions(self.objects, self.folder))

    def change(
        self,
        changed: Callable[[Mapping[str, Row]], dict[str, Row]],
        prepare: Callable[[Mapping[str, Row], Mapping[str, Row]], None] = lambda old, new: None,
    ) -> dict[str, Row]:
        """Publish what `changed` makes of what counts, if that is anything else; returns it.

        `prepare`: called with what counts and what will, before that is put.
        Raises `Unavailable` where others publish again and again, `Refused` after the last number.
        """
        known = list_versions(self.objects, self.folder)
        base = self._readable(known)
        counting = self._content(known[-1]) if known else {}
        seen: list[Mapping[str, Row]] = [base]
        later: dict[str, Row | None] = {}
        first = ""
        for _ in range(TRIES):
            after = _over(changed(base), later)
            if after == counting:
                return after
            prepare(base, after)
            mine, is_mine = self._put(after, known)
            first = first or mine
            seen.append(after)
            before = {each.path for each in known} | (set() if not is_mine else {mine})
            known = list_versions(self.objects, self.folder)
            late = [each for each in known if each.path not in before]
            if is_mine and not late:
                self._delete_older(known[:-1], all_=not after)
                return after
            for version in late:
                theirs = _news(self._content(version), seen)
                base = _over(base, theirs)
                later.update(theirs if version.path >= first else {})
            counting = self._content(known[-1]) if known else None
        raise Unavailable(
            f"{self.objects.root}/{self.folder}: others have published {TRIES} times meanwhile"
            " (expected few runs at a time): run the step again when they are done"
        )

    def _delete_older(self, versions: Sequence[StoredObject], *, all_: bool) -> None:
        """Delete those that cannot be read, for which SQL refuses the whole folder; or all."""
        for version in versions:
            if all_ or self._content(version) is None:
                self.objects.delete(version.path)

    def _put(self, rows: Mapping[str, Row], known: Sequence[StoredObject]) -> tuple[str, bool]:
        """Put a version after those that are known; its path, and whether it has our content."""
        last = int(known[-1].name.removesuffix(SUFFIX)) if known else 0
        published = max(self.now_ms(), last + 1 + secrets.randbelow(SPREAD_MS))
        if published > _LAST:  # nobody would look at it
            raise Refused(
                f"{self.objects.root}/{known[-1].path}: no version can come after it (expected a"
                " name after a time): delete it"
            )
        path = f"{self.folder}/{published:015d}{SUFFIX}"
        body = self.to_bytes(rows, published)
        self.objects.put(path, body)
        return path, self.objects.read(path) == body

    def _readable(self, versions: Sequence[StoredObject]) -> dict[str, Row]:
        contents = (self._content(version) for version in reversed(versions))
        return next((found for found in contents if found is not None), {})

    def _content(self, version: StoredObject) -> dict[str, Row] | None:
        """The rows of a version; None if it cannot be read."""
        try:
            return self._rows(version)
        except DamagedFile:
            return None

    def _rows(self, version: StoredObject) -> dict[str, Row]:
        body = self.objects.read(version.path)
        if body is None:
            raise _Swept(version.path, "it was swept while it was read")
        return self.from_bytes(body, version.path)


class _Swept(DamagedFile):
    """A version that is gone."""


def _news(
    found: Mapping[str, Row] | None, seen: Sequence[Mapping[str, Row]]
) -> dict[str, Row | None]:
    """By cluster, the rows that no version had that was seen before; None for one taken away.

    Nothing where `found` could not be read. A version may be made of an older one: a row that was
    seen before is nothing that it has changed.
    """
    if found is None:
        return {}
    names = {name for each in (found, *seen) for name in each}
    rows = {name: found.get(name) for name in names}
    return {name: row for name, row in rows.items() if all(row != each.get(name) for each in seen)}


def _over(rows: Mapping[str, Row], changes: Mapping[str, Row | None]) -> dict[str, Row]:
    """Rows with changes made to them; None takes one away."""
    after = {**rows, **changes}
    return {name: row for name, row in after.items() if row is not None}
