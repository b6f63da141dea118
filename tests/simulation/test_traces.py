"""The simulated brokers write what real ones were recorded to write.

`traces/` holds one reassignment on each of six releases, and on three of them moves during which a
broker was killed: a target, the controller, the controller after the request was deleted.
"""

from pathlib import Path

import pytest

from simulation.recordings import Trace, replay, streams

TRACES = sorted((Path(__file__).parent / "traces").glob("*.json"))


@pytest.mark.parametrize("file", TRACES, ids=[file.stem for file in TRACES])
def test_simulated_brokers_write_what_real_ones_wrote(file: Path) -> None:
    trace = Trace.read(file)
    assert replay(trace, file.stem) == streams(trace, trace.writes)
