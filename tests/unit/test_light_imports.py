"""What the operator's image does not hold is not needed to start there."""

import subprocess
import sys

ABSENT = ("pyarrow", "pyspark", "pandas")
NEEDED = (
    "poolkeeper.controller.operator",
    "poolkeeper.cli.commands.run",
    "poolkeeper.cli.commands.apply",
)


def test_it_starts_without_the_fleet_extra():
    hide = "".join(f"sys.modules[{name!r}] = None; " for name in ABSENT)
    code = f"import gc, sys; gc.disable(); {hide}import {', '.join(NEEDED)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
