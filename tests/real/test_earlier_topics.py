"""A broker of 2.8.2 keeps the log of an earlier topic of the same name: who hangs by it is named.

It happens where a move is turned elsewhere before anything was copied, and the topic is deleted and
made again: the broker still has the replica, with the id of the earlier topic, and refuses another.
"""

import re
import shutil
from pathlib import Path

import pytest

from poolkeeper.sandbox import Sandbox
from real.faults.nodes import somebody_moves_one_of_ours
from real.migrated_topic import PARTITIONS, TOPIC
from real.migrations import FAST, is_clean, migration_on, started
from real.support import assert_nothing_left

MEDIUM = {"throttle": {"mode": "Fixed", "rate": "96Ki"}}
BATCHES = [16] * PARTITIONS
TRIES = 6
"""So often is a move turned elsewhere until a broker keeps what it had of it."""
NAMED = re.compile(r"broker (\d+) is live and copies nothing of")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_log_of_an_earlier_topic_is_named_and_the_advice_helps(tmp_path: Path) -> None:
    with started("2.8.2") as sandbox:
        assert any(is_kept(sandbox, tmp_path / str(n)) for n in range(TRIES))
        with migration_on(sandbox, tmp_path, BATCHES) as under_way:
            under_way.declare(pool="right", execution=MEDIUM)
            with under_way.applying() as executor:
                executor.await_said("copies nothing of", 400)
                (broker,) = {int(named) for named in NAMED.findall(executor.said())}
                under_way.kill(broker)
                for folder in sandbox.log_dirs(broker):
                    for log in Path(folder).glob(f"{TOPIC}-0"):
                        shutil.rmtree(log)
                sandbox.start_broker(broker)
                ended = executor.end()
                assert ended.code == 0, ended.out
            assert under_way.brokers() <= {3, 4, 5}
            assert_nothing_left(sandbox, TOPIC)


def is_kept(sandbox: Sandbox, folder: Path) -> bool:
    """Move a topic, have somebody turn one of its moves elsewhere, delete it: is a log kept?"""
    folder.mkdir()
    with migration_on(sandbox, folder, BATCHES) as under_way:
        under_way.declare(pool="right", execution=MEDIUM)
        somebody_moves_one_of_ours(under_way)
        under_way.declare(execution=FAST)
        under_way.apply()
    return not is_clean(sandbox)
