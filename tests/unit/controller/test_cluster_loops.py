"""What a loop works towards, by what is declared."""

import pytest

from builders import cluster_spec
from poolkeeper.controller.cluster_loops import desired_of
from poolkeeper.model.specs import Desired, Mode
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import CustomResource

SPEC = cluster_spec(mode=Mode.APPLY)
PAUSED = cluster_spec(mode=Mode.PAUSED)
CLUSTER = CustomResource("KafkaCluster", "", "main", "u", 1, False, (), SPEC)
DESIRED = Desired(SPEC)


@pytest.mark.parametrize(
    ("assembly", "expected"),
    [
        pytest.param(
            Assembly("main", CLUSTER, DESIRED), DESIRED, id="what is declared, if it may be"
        ),
        pytest.param(
            Assembly("main", CLUSTER, None, "ResourcePool p is invalid"),
            None,
            id="nothing new while something is wrong",
        ),
        pytest.param(
            Assembly("main", CLUSTER, None, "KafkaCluster main is being deleted", leaving=True),
            Desired(PAUSED),
            id="nothing at all, so that a run ends, when the cluster is let go",
        ),
        pytest.param(Assembly("main"), None, id="nothing without a KafkaCluster"),
    ],
)
def test_a_loop_works_towards(assembly: Assembly, expected: Desired | None) -> None:
    assert desired_of(assembly) == expected
