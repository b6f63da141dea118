"""What `make` does again once something has changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAMPS = (".venv/bin/python", ".venv/.core", ".venv/.package", ".venv/.dev", ".venv/.fleet")
CORE, DEV, FLEET = (
    f"install --require-hashes -r requirements/{n}" for n in ("core", "dev", "fleet")
)
PACKAGE = "install --no-deps --no-build-isolation -e ."


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that are installed from, and stamps that say that they are installed."""
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for path in tmp_path.rglob("*"):
        os.utime(path, (1, 1))
    for second, name in enumerate(STAMPS, start=2):
        stamp = tmp_path / name
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
        os.utime(stamp, (second, second))
    return tmp_path


def done(checkout: Path, target: str) -> list[str]:
    """What the target would install."""
    words = ["make", "--dry-run", "-C", str(checkout), "PYTHON=python3", target]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return [each for each in (CORE, PACKAGE, DEV, FLEET) if each in said]


@pytest.mark.parametrize("target", ["setup", "demo", "lint", "unit"])
def test_nothing_is_installed_twice(checkout: Path, target: str) -> None:
    assert done(checkout, target) == []


@pytest.mark.parametrize("target", ["setup", "demo", "lint", "unit"])
def test_a_changed_project_file_installs_the_package_alone(checkout: Path, target: str) -> None:
    os.utime(checkout / "pyproject.toml", (99, 99))
    assert done(checkout, target) == [PACKAGE]


def test_changed_requirements_install_all_that_agrees_with_them(checkout: Path) -> None:
    os.utime(checkout / "requirements/core.txt", (99, 99))
    assert done(checkout, "unit") == [CORE, PACKAGE, DEV, FLEET]
    os.utime(checkout / "requirements/core.txt", (1, 1))
    os.utime(checkout / "requirements/fleet.txt", (99, 99))
    assert done(checkout, "unit") == [FLEET]


def test_the_demo_does_not_wait_for_tools_of_development(checkout: Path) -> None:
    for stamp in STAMPS[1:]:
        (checkout / stamp).unlink()
    assert done(checkout, "demo") == [CORE, PACKAGE]
    assert done(checkout, "unit") == [CORE, PACKAGE, DEV, FLEET]
