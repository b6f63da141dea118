"""Files that options name, read as far as one of their kind can reasonably go."""

from pathlib import Path

from poolkeeper.errors import wrong_file
from poolkeeper.text import size


def read(file: Path, bytes_max: int) -> bytes:
    """Return what a file holds; it may be a pipe. Raises `Refused`, also for more than that."""
    try:
        with file.open("rb") as opened:
            found = opened.read(bytes_max + 1)
    except OSError as error:
        raise wrong_file(file, f"cannot be read ({error.strerror})") from error
    if len(found) > bytes_max:
        raise wrong_file(file, f"has more than {size(bytes_max)}")
    return found


def read_text(file: Path, bytes_max: int) -> str:
    """Return a file of UTF-8 as text, without the mark of some editors; raises as `read`."""
    try:
        return read(file, bytes_max).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise wrong_file(file, f"cannot be read: {error}") from error
