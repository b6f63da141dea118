"""What a job is cut for does not hang on who is there when it begins."""

import pytest

from poolkeeper.fleet.engines import parallelism
from poolkeeper.fleet.engines.task_groups import runs

DYNAMIC = {"spark.master": "k8s://https://h", "spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize(
    ("conf", "now", "wanted"),
    [
        pytest.param({"spark.master": "local[4]"}, 4, 4, id="this-machine"),
        pytest.param({"spark.master": "spark://h:7077"}, 24, 24, id="all-that-is-there"),
        pytest.param(
            {"spark.master": "k8s://https://h", "spark.executor.instances": "5"}, 2, 5, id="pods"
        ),
        pytest.param(
            {
                "spark.master": "k8s://https://h",
                "spark.executor.instances": "5",
                "spark.executor.cores": "4",
                "spark.task.cpus": "2",
            },
            2,
            10,
            id="pods-with-cores",
        ),
        pytest.param({"spark.master": "spark://h:7077", "spark.cores.max": "8"}, 2, 8, id="cores"),
        pytest.param(
            {**DYNAMIC, "spark.dynamicAllocation.maxExecutors": "10", "spark.executor.cores": "2"},
            2,
            20,
            id="dynamic",
        ),
        pytest.param(DYNAMIC, 2, parallelism.EXECUTORS_MAX, id="dynamic-without-a-bound"),
        pytest.param(
            {**DYNAMIC, "spark.dynamicAllocation.maxExecutors": "2147483647"},
            2,
            parallelism.EXECUTORS_MAX,
            id="dynamic-with-no-real-bound",
        ),
        pytest.param({**DYNAMIC, "spark.executor.instances": "1"}, 90, 90, id="more-are-there"),
    ],
)
def test_slots(conf, now, wanted) -> None:
    assert parallelism.slots(conf, now) == wanted


@pytest.mark.parametrize("now", [0, 1, 2, 7, 32])
def test_tasks_are_the_same_however_many_executors_are_there_at_the_start(now: int) -> None:
    weights = [(n * 37) % 101 for n in range(5_000)]
    found = runs(weights, 16 * parallelism.slots(DYNAMIC, now))
    assert found == runs(weights, 16 * parallelism.EXECUTORS_MAX)
    assert max(found) > 400
