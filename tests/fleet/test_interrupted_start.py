"""A run that is told to end while Spark's Java starts leaves no process behind."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import poolkeeper
from conditions import until
from fleet.conftest import where
from matrices import soak

STARTED_S = 240.0
ENDED_S = 120.0


def of_session(leader: int) -> dict[int, str]:
    """Processes that a leader of a session has started, by id: their first words."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            stat = (place / "stat").read_text(encoding="ascii", errors="replace")
            state, _, _, session = stat.rpartition(")")[2].split()[:4]
            if int(session) == leader != int(place.name) and state != "Z":
                words = (place / "cmdline").read_bytes().decode(errors="replace")
                found[int(place.name)] = words.replace("\0", " ")
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, *soak(signal.SIGTERM)])
def test_an_interrupt_while_java_starts(number: int, fleet: Path) -> None:
    words = [*where(fleet), "--processes", "1", "--conf", "spark.driver.memory=512m"]
    with subprocess.Popen(
        [sys.executable, "-m", "poolkeeper", "fleet", "run", *map(str, words)],
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Who was started in the background ignores it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={**os.environ, "PYTHONPATH": str(Path(poolkeeper.__file__).parents[1])},
    ) as run:
        try:
            until(
                lambda: (
                    run.poll() is None
                    and any("SparkSubmit" in each for each in of_session(run.pid).values())
                ),
                "Java starts",
                STARTED_S,
            )
            run.send_signal(number)
            _, told = run.communicate(timeout=ENDED_S)
            until(lambda: not of_session(run.pid), "Java has ended, too", ENDED_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == 130
    assert "interrupted" in told.decode().splitlines()  # Java may still say something after that
