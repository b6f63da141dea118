"""What the operator's image does not hold is not needed to start there."""

import subprocess
import sys

import pytest

ABSENT = ("pyarrow", "pyspark", "pandas")


@pytest.mark.parametrize(
    "module", ["poolkeeper.operators", "poolkeeper.cli.run", "poolkeeper.cli.apply"]
)
def test_it_starts_without_the_fleet_extra(module):
    hide = "".join(f"sys.modules[{name!r}] = None; " for name in ABSENT)
    code = f"import sys; {hide}import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
