"""Writes the files that users ask for; a file that cannot be written is `Refused`."""

import contextlib
import os
from pathlib import Path

from poolkeeper.errors import Refused


def text(file: Path, body: str) -> None:
    """Replace a file atomically; raises Refused."""
    work = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        work.write_text(body, encoding="utf-8")
        work.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            work.unlink()
        raise Refused(f"{file}: cannot be written ({error.strerror})") from error
