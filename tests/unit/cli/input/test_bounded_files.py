"""Files that options name: read whole, or refused in one line that names the file."""

import os
from pathlib import Path
from threading import Thread

import pytest

from poolkeeper.cli.input import bounded_files
from poolkeeper.errors import Refused


@pytest.mark.parametrize("length", [0, 1, 9, 10])
def test_what_is_no_larger_than_it_may_be_is_read_whole(tmp_path: Path, length: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * length)
    assert bounded_files.read(file, 10) == b"x" * length


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"some",))
    writer.start()
    assert bounded_files.read_text(pipe, 10) == "some"
    writer.join()


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/dev/zero", "/dev/zero: has more than 10 B"),
        ("/no/such", "/no/such: cannot be read (No such file or directory)"),
        ("/dev", "/dev: cannot be read (Is a directory)"),
    ],
)
def test_what_cannot_be_read_is_refused(file: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        bounded_files.read_text(Path(file), 10)
    assert str(refused.value) == said


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xff")
    with pytest.raises(Refused, match="cannot be read: 'utf-8' codec"):
        bounded_files.read_text(file, 10)


def test_the_mark_by_which_some_editors_begin_a_file_is_no_text(tmp_path: Path) -> None:
    """A token with it would be the token of nobody."""
    file = tmp_path / "token"
    file.write_bytes(b"\xef\xbb\xbfsecret\r\n")
    assert bounded_files.read_text(file, 100).strip() == "secret"
