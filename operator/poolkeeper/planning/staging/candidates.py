"""From moves and the live cluster to the entries of a stage, and to the packer that weighs them.

An entry is a step that may go next. In-sync replicas decide whether a step waits:

- A step that adds replicas may always go. Kafka adds before it removes, so the step ends with all
  of its target in sync.
- A step that only removes replicas may go if enough of them stay in sync: as many as
  `min.insync.replicas` asks for, with one broker lost. If the target has fewer replicas than that,
  all of the target must be in sync.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from poolkeeper.model.columns.partition_queries import not_fully_in_sync
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topic_config.min_insync import default_min_insync, min_insync
from poolkeeper.model.topology import Cluster, Replicas, Topic
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.staging.disks.disk_reserve import Guard
from poolkeeper.planning.staging.disks.disk_space import Disks
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.lawful.excess_ledger import Ledger
from poolkeeper.planning.staging.lawful.step_checks import StepChecks
from poolkeeper.planning.staging.limits import Bounds, Entry, TopicCaps
from poolkeeper.planning.staging.packer import StagePacker


def packer_for(
    rules: Rules, bounds: Bounds, moves: Sequence[Move], table: EntryTable
) -> StagePacker:
    """A packer that starts from the live state; `table`: the next step of each such move."""
    topics = rules.cluster.topics
    disks, ledger = Disks(rules, bounds), Ledger(rules)
    chains = []
    if disks.free:
        in_turn = sorted(range(len(table)), key=table.move.__getitem__)
        entries = map(table.entry, in_turn)
        ahead = (_ahead(rules.cluster, moves[entry.move], entry) for entry in entries)
        chains = [tuple(map(disks.step, steps)) for steps in ahead]
    caps = TopicCaps(topics, bounds)
    checks = StepChecks(
        table,
        [caps.of(topic) for topic in table.topics],
        ledger,
        disks,
        _in_sync_check(topics, default_min_insync(rules.cluster)),
        _lagging(topics, table),
        Guard(chains),
        ledger.changes(table),
    )
    return StagePacker(checks, rules.desired.cluster.execution, bounds)


def _ahead(cluster: Cluster, move: Move, entry: Entry) -> Iterator[Entry]:
    """The entry, and the later steps of its move."""
    yield entry
    for step in range(entry.step + 1, len(move.path)):
        yield entry_for(cluster.topics, cluster.brokers, entry.move, move, step, entry.leader)


def entry_for(
    topics: Mapping[str, Topic],
    live: Collection[int],
    index: int,
    move: Move,
    step: int,
    leader: int | None = None,
) -> Entry:
    """A step as an entry; `leader`: the leader at that time, if not the observed one."""
    before, after = move.path[step - 1], move.path[step]
    added = tuple([broker for broker in after if broker not in before])
    if leader is None:
        observed = topics.get(move.topic)
        known = None if observed is None else observed.partition(move.partition)
        leader = leader_of(None if known is None else known.leader, before, live)
    size = 0
    if added:
        plain = len(move.path) == 2 and len(set(added)) == len(added)
        size = move.bytes // len(added) if plain else move.replica_bytes
    return Entry(
        move.urgency,
        size * len(added),
        index,
        step,
        move.topic,
        move.partition,
        before,
        after,
        added,
        leader,
        size,
    )


def leader_of(observed: int | None, before: Replicas, live: Collection[int]) -> int:
    """The observed leader, else the expected one: the first live replica."""
    if observed is not None and observed in before:
        return observed
    return next((broker for broker in before if broker in live), before[0])


def _lagging(topics: Mapping[str, Topic], table: EntryTable) -> set[int]:
    """The topics of steps that add nothing, of which any replica is known to be out of sync."""
    shrinking = {topic for topic, into in zip(table.topic, table.into, strict=True) if not into}
    return {
        topic
        for topic in shrinking
        if any(
            partition.isr is not None and len(partition.isr) < len(partition.replicas)
            for partition in not_fully_in_sync(topics[table.topics[topic]].partitions)
        )
    }


def _in_sync_check(topics: Mapping[str, Topic], default: int) -> Callable[[Entry], Wait | None]:
    def problem(entry: Entry) -> Wait | None:
        if entry.added or len(entry.after) >= len(entry.before):
            return None
        topic = topics[entry.topic]
        partition = topic.partition(entry.partition)
        in_sync = set(entry.before)
        if partition is not None and partition.isr is not None:
            in_sync = set(partition.isr) if partition.replicas == entry.before else in_sync
        stay = len(in_sync & set(entry.after))
        needed = min(min_insync(topic, default) + 1, len(entry.after))
        if stay >= needed:
            return None
        return Wait(
            WaitReason.TOO_FEW_IN_SYNC,
            partitions=(entry.name,),
            replicas=entry.after,
            count=stay,
            of=needed,
        )

    return problem
