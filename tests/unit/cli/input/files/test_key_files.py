"""Files of keys: what is read as which keys, and what is refused, with its line."""

import gzip
from pathlib import Path

import pytest

from poolkeeper.cli.input.files import key_files
from poolkeeper.errors import InvalidInput, Refused


def read(path: Path, *, hexadecimal: bool = False) -> list[bytes]:
    return [key for batch in key_files.batches(path, hexadecimal=hexadecimal) for key in batch]


@pytest.mark.parametrize(
    ("content", "hexadecimal", "keys"),
    [
        pytest.param(b"a\nb\n", False, [b"a", b"b"], id="a line each"),
        pytest.param(b"a\nb", False, [b"a", b"b"], id="the last line has no end"),
        pytest.param(b"a\n\nb\n", False, [b"a", b"", b"b"], id="an empty line is the empty key"),
        pytest.param(b"a\r\nb\r\n", False, [b"a", b"b"], id="line ends of Windows"),
        pytest.param(
            b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n",
            False,
            [b"a", b"\xef\xbb\xbfb"],
            id="a mark of UTF-8 begins the file",
        ),
        pytest.param("ä\n€\n".encode(), False, ["ä".encode(), "€".encode()], id="UTF-8"),
        pytest.param(b"00ff\nAb\n", True, [b"\x00\xff", b"\xab"], id="hexadecimal"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_the_keys_of_a_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    hexadecimal: bool,
    keys: list[bytes],
    packed: bool,
    block: int,
) -> None:
    monkeypatch.setattr(key_files, "BLOCK_BYTES", block)
    file = tmp_path / ("keys.gz" if packed else "keys.txt")
    file.write_bytes(gzip.compress(content) if packed else content)
    assert read(file, hexadecimal=hexadecimal) == keys


@pytest.mark.parametrize(
    ("content", "hexadecimal", "said"),
    [
        pytest.param(b"", False, ["is empty (expected a key a line)"], id="empty"),
        pytest.param(
            b"a\n\xff\nb\n\xfe\n",
            False,
            [f"{line}: is not UTF-8 (expected it, or --hex)" for line in (2, 4)],
            id="not UTF-8",
        ),
        pytest.param(
            b"0g\n00\n0\n",
            True,
            [f"{n}: is not hexadecimal (expected two digits for each byte)" for n in (1, 3)],
            id="not hexadecimal",
        ),
        pytest.param(
            b"\xff\n" * 50,
            False,
            [f"{n}: is not UTF-8 (expected it, or --hex)" for n in range(1, 11)],
            id="all wrong: the first ten are named",
        ),
    ],
)
def test_what_holds_no_keys(
    tmp_path: Path, content: bytes, hexadecimal: bool, said: list[str]
) -> None:
    file = tmp_path / "keys.txt"
    file.write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        read(file, hexadecimal=hexadecimal)
    shown = [str(each).removeprefix(f"{file}:").strip() for each in refused.value.problems]
    assert shown == said


def test_a_line_without_end_is_not_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(key_files, "KEY_BYTES_MAX", 1024)
    file = tmp_path / "keys.txt"
    file.write_bytes(b"a\n" + b"x" * 2000)
    with pytest.raises(InvalidInput, match=r"keys\.txt:2: is longer than 1 KiB"):
        read(file)


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_a_line_that_is_too_long_is_refused_wherever_blocks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(key_files, "BLOCK_BYTES", block)
    monkeypatch.setattr(key_files, "KEY_BYTES_MAX", 1024)
    file = tmp_path / "keys.txt"
    file.write_bytes(b"a\n" + b"x" * 1025 + b"\nb\n")
    with pytest.raises(InvalidInput, match=r"keys\.txt:2: is longer than 1 KiB"):
        read(file)
    file.write_bytes(b"ab" * 1024 + b"\n")
    assert read(file, hexadecimal=True) == [b"\xab" * 1024]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read: No such file"):
        read(tmp_path / "none.txt")
    broken = tmp_path / "keys.gz"
    broken.write_bytes(gzip.compress(b"a\n" * 1000)[:-9])
    with pytest.raises(InvalidInput, match="is not a gzip file, or cut off"):
        read(broken)
