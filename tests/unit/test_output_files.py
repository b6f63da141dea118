"""Files that commands write: whole or not at all; what is no regular file stays what it is."""

import os
import stat
from pathlib import Path
from threading import Thread

import pytest

from poolkeeper import output_files
from poolkeeper.errors import Refused


def test_a_regular_file_is_replaced_at_once(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("a longer text of before")
    with file.open() as reader:
        output_files.write(file, "new")
        assert reader.read() == "a longer text of before"
    assert file.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("before", ["", "text"])
def test_a_private_file_is_private_whatever_was_there(tmp_path: Path, before: str) -> None:
    file = tmp_path / "backup.json"
    if before:
        file.write_text(before)
    output_files.write(file, "secret", mode=0o600)
    assert (stat.S_IMODE(file.stat().st_mode), file.read_text()) == (0o600, "secret")


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("a longer text of before")
    link.symlink_to(target)
    output_files.write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    output_files.write(pipe, "new")
    reader.join(10)
    assert read == ["new"]
    assert pipe.is_fifo()


@pytest.mark.timeout(20)
def test_a_pipe_that_nobody_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_files, "READER_S", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match=r"pipe: cannot be written \(nobody reads this pipe\)"):
        output_files.write(tmp_path / "pipe", "new")


def test_a_pipe_that_is_full_is_waited_for(tmp_path: Path) -> None:
    pipe, read, body = tmp_path / "pipe", list[int](), "x" * 1_000_000
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(len(pipe.read_text())))
    reader.start()
    output_files.write(pipe, body)
    reader.join(10)
    assert read == [len(body)]


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    device.symlink_to(os.devnull)  # a fault would cost the link, not the machine's device
    output_files.write(device, "new")
    assert device.is_symlink()
    assert device.is_char_device()


@pytest.mark.parametrize("place", ["missing/plan.json", "file/plan.json", "folder"])
def test_what_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Refused, match=f"{place}: cannot be written"):
        output_files.write(tmp_path / place, "new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_an_interrupt_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        output_files.write(tmp_path / "plan.json", "new")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_leaves_none_of_those_above_it(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be made"):
        output_files.make_folder(tmp_path / "a" / "b" / ("c" * 300))
    assert list(tmp_path.iterdir()) == []
    assert output_files.make_folder(tmp_path / "a" / "b") == (tmp_path / "a", tmp_path / "a" / "b")
    assert output_files.make_folder(tmp_path / "a" / "b") == ()


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "inner"):
        with pytest.raises(Refused, match="cannot be made"):
            output_files.make_folder(folder)
