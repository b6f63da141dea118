"""Partitions that no broker has the disk for, or too few."""

import pytest

from poolkeeper.model.specs import Capacity
from unit.planning.diagnosis.test_capacity_report import MIB, RACKS, cluster, problems

HELP = "Add brokers with larger disks, or lower its retention"


def disks(*mib: int) -> dict[int, Capacity]:
    return {n: Capacity(disk_bytes=size * MIB) for n, size in zip(RACKS, mib, strict=True)}


@pytest.mark.parametrize(
    ("seen", "pool", "said"),
    [
        pytest.param(
            cluster((1,), size_mib=120),
            {"drain": frozenset({1}), "capacity_of": disks(500, 100, 100, 100, 110, 100)},
            "partition t-0 of 120 MiB fits no broker of pool p: the largest free disk has 110 MiB"
            f" (broker 5). {HELP}",
            id="larger-than-any-disk",
        ),
        pytest.param(
            cluster((1, 2), (1, 2), size_mib=120),
            {"capacity_of": disks(500, 100, 100, 100, 110, 100)},
            "partition t-0 of 120 MiB needs 2 brokers of pool p and fits 1 of them (1): the next"
            " free disk has 110 MiB (broker 5); 1 more partition of the topic is too large as"
            f" well. {HELP}",
            id="larger-than-all-disks-but-one",
        ),
        pytest.param(
            cluster((1,), size_mib=2**20 + 1),
            {"capacity_of": disks(*[2**20] * 6)},
            "partition t-0 of 1,048,577 MiB fits no broker of pool p: the largest free disk has"
            f" 1,048,576 MiB (broker 1). {HELP}",
            id="larger-by-a-trifle",
        ),
    ],
)
def test_partitions_too_large_are_named(seen, pool, said) -> None:
    assert ("t", said) in problems(seen, **pool)


@pytest.mark.parametrize(
    ("seen", "pool"),
    [
        pytest.param(
            cluster((1,), size_mib=110),
            {"capacity_of": disks(50, 100, 100, 100, 110, 100)},
            id="one-disk-is-just-large-enough",
        ),
        pytest.param(
            cluster((1, 2, 4), size_mib=120),
            {"capacity_of": {n: Capacity(disk_bytes=1) for n in (1, 2, 3, 4, 5)}},
            id="a-disk-is-not-declared",
        ),
    ],
)
def test_others_are_not(seen, pool) -> None:
    assert [message for topic, message in problems(seen, **pool) if topic] == []
