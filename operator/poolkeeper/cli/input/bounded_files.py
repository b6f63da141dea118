"""Files that options name, read as far as one of their kind can reasonably go."""

from pathlib import Path

from poolkeeper.errors import Refused
from poolkeeper.text import size


def read(file: Path, bytes_max: int) -> bytes:
    """Return what a file holds; it may be a pipe. Raises `Refused`, also for more than that."""
    try:
        with file.open("rb") as opened:
            found = opened.read(bytes_max + 1)
    except OSError as error:
        raise Refused(f"{file}: cannot be read ({error.strerror})") from error
    if len(found) > bytes_max:
        raise Refused(f"{file}: has more than {size(bytes_max)}")
    return found


def read_text(file: Path, bytes_max: int) -> str:
    """Return a file of UTF-8 as text, without the mark of some editors; raises as `read`."""
    try:
        return read(file, bytes_max).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{file}: cannot be read: {error}") from error
