"""In how many ways stages are tried."""

from unittest.mock import patch

from builders import MIB, move, partition, plan
from poolkeeper.planning.staging import next_stage, packer
from unit.planning.staged import cluster, desired


def test_few_of_many_stages_that_large_entries_set_the_length_of_are_tried_in_every_style() -> None:
    sizes = [int(1.12**number) * MIB + MIB for number in range(120)]
    lists = [partition(n, 1 + n % 3, size_bytes=size) for n, size in enumerate(sizes)]
    moves = [move("t", n, (1 + n % 3,), (4,), bytes=size) for n, size in enumerate(sizes)]
    seen, wanted = cluster(t=lists), desired(max_moves_per_broker=2)
    tried = packer.StagePacker._best_style
    counted = patch.object(packer.StagePacker, "_best_style", autospec=True, side_effect=tried)
    with counted as styles:
        predicted, makespan, _ = next_stage.predict(plan(*moves), seen, wanted)
    assert len(predicted) == 108
    assert styles.call_count == packer._STYLED_MAX
    assert makespan is not None
