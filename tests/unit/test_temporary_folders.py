"""Folders for temporary files are gone in the end, and one that cannot be made is told."""

import re
import tempfile
from pathlib import Path

import pytest

from poolkeeper.errors import Refused
from poolkeeper.temporary_folders import temporary_folder


def test_a_folder_is_private_and_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        (folder / "key.pem").write_text("secret")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    expected = rf"no folder for temporary files .*\({re.escape(str(tmp_path))}/gone/"
    with (
        pytest.raises(Refused, match=f"{expected}.*: No such file or directory.: make room there$"),
        temporary_folder(tmp_path / "gone"),
    ):
        raise AssertionError


def test_folders_of_the_system_that_are_full_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/dev/full"])
    expected = r"\(No usable temporary directory found in \['/dev/full'\]\): .*set TMPDIR"
    with pytest.raises(Refused, match=expected), temporary_folder():
        raise AssertionError
