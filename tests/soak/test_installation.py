"""What the README says of an environment of one's own: `pip install .` brings the command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SECONDS_MAX = 600

pytestmark = [pytest.mark.soak, pytest.mark.timeout(2 * SECONDS_MAX)]


def test_an_environment_of_ones_own_has_the_command_and_its_data(tmp_path: Path) -> None:
    readme = " ".join((REPOSITORY / "README.md").read_text(encoding="utf-8").split())
    assert re.search(r"an environment of your own `pip install \.` brings it", readme)
    _run(sys.executable, "-m", "venv", "own", folder=tmp_path)
    bin_ = tmp_path / "own" / "bin"
    _run(str(bin_ / "pip"), "install", "--quiet", str(REPOSITORY), folder=tmp_path)
    told = _run(str(bin_ / "poolkeeper"), "version", folder=tmp_path)
    assert told.startswith("poolkeeper ")
    manifest = _run(
        *(str(bin_ / "poolkeeper"), "new", "topic", "orders", "--pool", "fast"),
        *("--partitions", "6", "--replication-factor", "3"),
        folder=tmp_path,
    )
    assert "kind: Topic" in manifest


def _run(*command: str, folder: Path) -> str:
    """Run a command in a folder in which nothing of this checkout is found; return its output."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
