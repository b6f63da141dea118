"""Folders for what a process keeps only while it works.

Python's own errors name neither the folder that is full nor what to do.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from poolkeeper.errors import Refused


@contextmanager
def temporary_folder(within: Path | None = None) -> Iterator[Path]:
    """Make a folder that this user alone can read, and remove it in the end; raises Refused.

    It is in the folder `within`, or else where the system keeps temporary files.
    """
    try:
        folder = tempfile.TemporaryDirectory(
            prefix="poolkeeper-" if within is None else ".poolkeeper-", dir=within
        )
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        advice = "make room there" if within else "make room there, or set TMPDIR to another folder"
        raise Refused(
            f"no folder for temporary files can be made ({named}{error.strerror}): {advice}"
        ) from error
    with folder as path:
        yield Path(path)
