"""Writes the files that users ask for; a file that cannot be written is `Refused`."""

import contextlib
import os
from pathlib import Path

from poolkeeper.errors import Refused


def text(file: Path, body: str, mode: int = 0o666) -> None:
    """Replace a file atomically; `mode`: its rights, less the umask. Raises Refused."""
    work = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        number = os.open(work, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            stream.write(body)
        work.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            work.unlink()
        raise Refused(f"{file}: cannot be written ({error.strerror})") from error
