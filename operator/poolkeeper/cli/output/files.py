"""Writing files that people asked for; a file that cannot be written is their problem to mend."""

import contextlib
import os
from pathlib import Path

from poolkeeper.errors import Refused


def text(file: Path, body: str) -> None:
    """Write a file whole or not at all, over what was there; raises Refused."""
    work = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        work.write_text(body, encoding="utf-8")
        work.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            work.unlink()
        raise Refused(f"{file}: cannot be written ({error.strerror})") from error
