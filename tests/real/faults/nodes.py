"""Nodes are damaged, removed, restored or written by somebody else: ours and Kafka's."""

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from conditions import until
from poolkeeper.algorithms.throttles import BROKER_KEYS, TOPIC_KEYS
from poolkeeper.brokers.requests import BrokerClient
from real.faults.harm import ALLOWED, END_S
from real.migrated_topic import PARTITIONS, TOPIC
from real.migrations import FAST, Migration, pass_time
from real.support import REQUEST, RUN, assert_nothing_left


def plan_of_the_run_is_cut(under_way: Migration) -> None:
    with under_way.applying():
        pass
    (chunk,) = [c for c in under_way.zookeeper.get_children(RUN) if c != "stop"]
    path = f"{RUN}/{chunk}"
    data = under_way.zookeeper.get(path)[0]
    under_way.zookeeper.set(path, data[: len(data) // 2])
    refused = under_way.run("apply", "--yes")
    assert (refused.code, path in refused.err) == (1, True), refused
    assert "repair" in refused.err
    repaired(under_way, path, (0, 4))  # what moves needs its throttles
    taken_up(under_way)


def topic_record_is_damaged(under_way: Migration) -> None:
    path = f"/poolkeeper/records/topics/{TOPIC}"
    with under_way.applying() as executor:
        under_way.zookeeper.set(path, b'{"version":1,"owner":')
        ended = executor.end(END_S)
        assert ended.code in (0, 4), ended.out
    repaired(under_way, path)


def repaired(under_way: Migration, path: str, codes: tuple[int, ...] = (0,)) -> None:
    """All commands name the node; `repair` shows what it would do, and does it."""
    for command in ("status", "plan"):
        told = under_way.run(command)
        assert path in told.out + told.err, told
    shown = under_way.run("repair")
    assert (shown.code, path in shown.out) == (2, True), shown
    backup = under_way.folder.parent / "backup.json"
    mended = under_way.run("repair", "--yes", "--backup", backup)
    assert mended.code in codes, mended
    assert path not in under_way.run("status").out


def run_node_is_removed(under_way: Migration) -> None:
    with under_way.applying():
        pass
    under_way.zookeeper.delete(RUN, recursive=True)
    for command in ("status", "plan"):
        told = under_way.run(command)
        words = " ".join((told.out + told.err).split())
        assert "a run that is gone left throttles" in words, told
        assert "is lost, and what it requested goes on" in words, told
        assert "foreign" not in words, told
    taken_up(under_way)


def taken_up(under_way: Migration) -> None:
    """What a lost run requested is ours: the next executor takes it up, and comes to the end."""
    with under_way.applying() as executor:
        executor.await_said("took up")
        assert executor.end(END_S).code == 0, executor.said()


def old_throttles_are_restored(under_way: Migration) -> None:
    """Somebody restores a backup of the configs that was made in the middle of the run."""
    entities = [f"topics/{TOPIC}", *(f"brokers/{broker}" for broker in range(1, 6))]
    with under_way.applying() as executor:
        saved = {entity: under_way.config(entity) for entity in entities}
        assert executor.end(END_S).code == 0
    for entity, config in saved.items():
        under_way.edit(entity, config)
    told = under_way.run("status")
    assert "no run accounts for the throttles" in " ".join(told.out.split()), told
    backup = under_way.folder.parent / "backup.json"
    asked = ("--remove-unaccounted-throttles", "--yes", "--backup", backup)
    mended = under_way.run("repair", *asked)
    assert mended.code == 0, mended


def request_is_deleted(under_way: Migration) -> None:
    under_way.zookeeper.delete(REQUEST)


def request_that_nobody_can_read(under_way: Migration) -> None:
    """It lies there before; nobody but us notices ever."""
    under_way.zookeeper.create(REQUEST, b"{")
    under_way.declare(execution=FAST | ALLOWED)
    told = under_way.run("status")
    assert REQUEST in told.out, told
    under_way.apply()


def somebody_moves_one_of_ours(under_way: Migration) -> None:
    """By the brokers' API, in mid-run: it is left to them until the run has ended."""
    with under_way.applying() as executor:
        admin = KafkaAdminClient(bootstrap_servers=under_way.sandbox.bootstrap.split(","))
        admin.alter_partition_reassignments({TopicPartition(TOPIC, 0): [2, 3]})
        admin.close()
        ended = executor.end(END_S)
        assert ended.code == 4, ended.out
        assert f"{TOPIC}-0" in ended.out


def somebody_cancels_ours(under_way: Migration) -> None:
    """By the brokers' API, in mid-run, and they take the throttles off: no other is requested."""
    with under_way.applying() as executor:
        until(lambda: all(len(ids) > 2 for ids in under_way.replicas()), "all moves are begun")
        pass_time(5)  # the executor has seen it
        with BrokerClient.open(under_way.sandbox.bootstrap.split(",")) as brokers:
            assert not brokers.cancel_moves(TopicPartition(TOPIC, p) for p in range(PARTITIONS))
        for entity in (f"topics/{TOPIC}", *(f"brokers/{broker}" for broker in range(1, 6))):
            under_way.edit(entity, dict.fromkeys((*BROKER_KEYS, *TOPIC_KEYS)))
        ended = executor.end(END_S)
    assert ended.code == 1, ended.out
    assert "somebody else cancelled" in ended.out  # the first that are back
    assert "stage 2" not in ended.out
    assert under_way.brokers() == {1, 2}
    assert_nothing_left(under_way.sandbox, TOPIC)
