"""Reports of a fleet that `poolkeeper fleet report` wrote: one file of it, a folder, or a store.

Only pages and plans of reports are read, by the names that the report gives them. What was read is
kept for `KEEP_S`, so that viewers cost a store no more than one.
"""

import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock

from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.errors import Unavailable, wrong_file
from poolkeeper.resources.parse.files import real_path
from poolkeeper.ui.registry import File, FleetFiles

KEEP_S = 30.0
BYTES_MAX = 64 * 2**20
REPORT = re.compile(r"report-\d{4}-\d\d-\d\d\.html", re.ASCII)
PAGE = re.compile(r"report-\d{4}-\d\d-\d\d(\.html|/[a-z0-9][a-z0-9.-]*\.(html|json))", re.ASCII)
TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json"}


def fleet_files(where: str) -> FleetFiles:
    """The reports at a URI, in a folder, or the one in a file; raises Refused where none can be."""
    path = Path(where.removeprefix("file://"))
    if os.path.isfile(path):  # the method raises where it may not be looked for
        if path.suffix not in TYPES:
            raise wrong_file(where, "is no page (expected report-DAY.html, or where it is)")
        return FleetFiles(lambda: path.name, _kept(partial(_from_folder, path.parent, path.name)))
    if os.path.isdir(path):
        return FleetFiles(partial(_latest_of_folder, path), _kept(partial(_from_folder, path, "")))
    if "://" not in where:
        raise wrong_file(where, "there is no such file or folder")
    lakes, filesystems = (snapshot_files.fleet(f"lake.{m}") for m in ("objects", "filesystems"))
    objects = lakes.ArrowObjects(filesystems.root_of(where))

    def latest() -> str | None:
        names = (each.name for each in objects.children("") if not each.is_folder)
        return max(filter(REPORT.fullmatch, names), default=None)

    return FleetFiles(latest, _kept(lambda name: objects.read(name) if _is_page(name) else None))


def _is_page(name: str) -> bool:
    return PAGE.fullmatch(name) is not None and ".." not in name


def _latest_of_folder(folder: Path) -> str | None:
    try:
        names = [each.name for each in folder.iterdir()]
    except OSError as error:
        raise Unavailable(f"{folder}: cannot be read ({error.strerror})") from error
    return max(filter(REPORT.fullmatch, names), default=None)


def _from_folder(folder: Path, named: str, name: str) -> bytes | None:
    if name != named and not _is_page(name):
        return None
    file = folder / name
    try:
        # What leads out of the folder is no page of it; a path's own method raises in a circle.
        inside = Path(real_path(file)).is_relative_to(real_path(folder))
        if not inside or not os.path.isfile(file):
            return None
        if file.stat().st_size > BYTES_MAX:
            raise wrong_file(file, "is too large for a page")
        return file.read_bytes()
    except OSError as error:
        raise Unavailable(f"{file}: cannot be read ({error.strerror})") from error


def _kept(read: Callable[[str], bytes | None]) -> Callable[[str], File | None]:
    """Keep the latest file for a while."""
    lock = Lock()
    last: list[tuple[str, float, File | None]] = []

    def kept(name: str) -> File | None:
        with lock:
            if last and last[0][0] == name and time.monotonic() - last[0][1] < KEEP_S:
                return last[0][2]
            body = read(name)
            file = None if body is None else File(body, TYPES[Path(name).suffix])
            last[:] = [(name, time.monotonic(), file)]
            return file

    return kept
