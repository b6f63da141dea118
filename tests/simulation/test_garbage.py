"""What a pass has read is given back when the pass ends, not when the collector comes to it.

A reading of a large cluster is hundreds of MiB, and the collector looks at old objects seldom.
"""

import gc

import pytest

from simulation.executors import Executor
from simulation.scenarios import SCENARIOS

IN_A_PASS_MAX = 40
"""A pass that keeps its reading in a circle leaves hundreds of objects."""


@pytest.mark.parametrize("kafka", ["2.2.2", "3.9.2"])
@pytest.mark.parametrize("name", ["migration", "drain", "rollback"])
def test_passes_leave_next_to_nothing_to_the_collector(name: str, kafka: str) -> None:
    scenario = SCENARIOS[name]
    cluster, wanted = scenario.made(kafka)
    executor = Executor(cluster, wanted, at_rest=scenario.at_rest)
    gc.collect()
    gc.disable()
    try:
        executor.finish()
        left = gc.collect()
    finally:
        gc.enable()
    assert left < IN_A_PASS_MAX * executor.passes
