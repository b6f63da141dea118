"""What holds in every course of the campaign, told from ZooKeeper's log and the cluster's end.

To the laws of `invariants` that know nothing of other people's doings come these:

* *In sync*: at each write of a partition's state there is one list that somebody asked for (its
  first one, a request's, one in the topic node) whose members, but for brokers that died or lost
  their session and have not been in sync again since, are all in sync. It has a leader,
  but for moments, as long as a replica in sync is live.
* *As declared*: a loop that says that it is done has made every topic as its Topic says.
* *Nothing left*: no run, no request and no throttle of ours without a run, unless it is named; a
  run only if the loop says why it waits.
* *True*: what the loop waits for is so (`truths`).
* *KRaft's*: nothing of Kafka's is written while a KRaft controller has claimed the cluster.
* *Bounded*: passes and writes.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation
from poolkeeper.zk.znodes import ROOT
from simulation import invariants
from simulation.campaign import tools, truths
from simulation.campaign.kinds import Trouble
from simulation.campaign.play import ROUNDS_MAX, Played, stopped
from simulation.campaign.situation import MB, Partition, Situation
from simulation.invariants import TOPICS, Trail

PASSES_MAX = 220
WRITES_MAX = 160
BROKERS = "/brokers/ids/"
LEADERLESS_MS = 8_000  # a broker that returns is registered when its session before has ended
NOTICED_MS = 1_000  # after it a controller knows that a broker was away
OUR_RATES = {str(rate) for rate in (2 * MB, 3 * MB)}


def broken_at_rest(played: Played) -> list[str]:
    """Name what is wrong when the loop has come to rest."""
    s, outcome = played.situation, played.ends[-1]
    found = truths.untrue(s, outcome) + leftovers(s, outcome)
    if outcome.state is State.CONVERGED:
        found += not_as_declared(s, outcome)
    done = outcome.state is State.CONVERGED or stopped(outcome)
    if len(played.ends) > ROUNDS_MAX and not done:
        waits = ", ".join(truths.brief(wait) for wait in outcome.waits)
        found.append(f"all was put right, and it still waits: {waits}")
    return [f"at rest {len(played.ends)}: {each}" for each in found]


def broken_in_all(played: Played) -> list[str]:
    """Name what was wrong at any time."""
    s, loop = played.situation, played.loop
    others = frozenset({s.cluster.client.session_id, *s.cluster.of_brokers})
    trail = Trail(s.cluster.server, played.since_zxid, others)
    found = [
        *played.checked,
        *invariants.unfenced(trail),
        *out_of_sync(s, trail),
    ]
    found += invariants.unrecorded(trail)
    found += written_under_kraft(s, trail)
    if loop.passes > PASSES_MAX:
        found.append(f"{loop.passes} passes")
    if loop.writes > WRITES_MAX:
        found.append(f"{loop.writes} writes")
    return found


def written_under_kraft(s: Situation, trail: Trail) -> Iterator[str]:
    """Name what of Kafka's was written while a KRaft controller had claimed the cluster."""
    for transaction in trail.ours:
        if any(begin < transaction.zxid <= end for begin, end in s.claims):
            for change in transaction.changes:
                if not change.path.startswith(ROOT):
                    yield f"{change.path} is written during a migration to KRaft"


# At rest


def leftovers(s: Situation, outcome: Outcome) -> list[str]:
    """Name what is there without a reason."""
    found = []
    run = s.cluster.exists(invariants.RUN)
    if run and (not outcome.waits or outcome.state is State.STOPPED):
        found.append(f"a run is left: {s.cluster.read(invariants.RUN)}")
    if s.cluster.exists(invariants.HOLDER):
        found.append("the holder is left")
    if s.cluster.exists(REQUEST) and not outcome.waits:
        found.append(f"a request is left: {s.cluster.read(REQUEST)}")
    mended = s.deleted if not s.has(Trouble.CONFIG_NODE_DAMAGED) else s.edited.keys()
    for topic, value in s.edited.items():
        if topic not in mended and tools.config_of(s, f"topics/{topic}").get(tools.EDITED) != value:
            found.append(f"somebody's edit of the config of {topic} is lost")
    seen = outcome.last_observation
    told = outcome.waits if seen is None else (*outcome.waits, *seen.unaccounted)
    named = {
        entity
        for wait in told
        if wait.reason in (WaitReason.THROTTLES_LEFT, WaitReason.THROTTLES_UNWRITABLE)
        for entity in truths.throttled_by(wait)
    }
    for entity in () if run else sorted(set(tools.throttled(s)) - named):
        config = tools.config_of(s, entity)
        ours = entity not in s.foreign_throttles or OUR_RATES & set(config.values())
        if ours:
            found.append(f"throttles of ours are left on {entity}: {config}")
    return found


def not_as_declared(s: Situation, outcome: Outcome) -> list[str]:
    """Name the topics that are not as declared, although the loop says that it is done."""
    found = []
    told = outcome.external
    if s.offer is not None and not outcome.waits and (told is None or not told.why):
        found.append(f"a plan that was offered is neither done nor refused: {told}")
    for spec in s.desired.topics:
        if any(p.topic == spec.topic or p.pool == spec.pool for p in outcome.problems):
            continue
        pool = s.pool(spec.pool)
        homes = set(pool.brokers) - pool.drain
        if not s.cluster.exists(f"{TOPICS}{spec.topic}"):
            found.append(f"{spec.topic} is not there")
            continue
        lists = s.cluster.replicas(spec.topic)
        wrong = {
            number: ids
            for number, ids in lists.items()
            if not set(ids) <= homes or len(ids) != spec.replication_factor
        }
        if (wrong or len(lists) < (spec.partitions or 0)) and not outcome.waits:
            found.append(f"{spec.topic} is {lists}, declared: {spec}, {pool}: {outcome.problems}")
    if s.tells_logs and not outcome.problems and not outcome.waits:
        found += not_emptied(s)
    return found


def not_emptied(s: Situation) -> Iterator[str]:
    """Name the replicas that are left in drained log directories."""
    for each in (drained for pool in s.desired.pools for drained in pool.drain_log_dirs):
        disk = s.cluster.simulation.brokers[each.broker].disk
        for tp, log in disk.logs.items():
            assigned = s.cluster.replicas(tp.topic) if tp.topic in s.topics() else {}
            if disk.directories[log.directory] == each.path and each.broker in assigned.get(
                str(tp.partition), ()
            ):
                yield f"{tp} is left in {each}"


# In sync


@dataclass(slots=True)
class _Ledger:
    """By partition: lists that somebody asked for, when each replica was last in sync, since when
    there is no leader although a replica in sync is live, and the last ISR. By broker: when it was
    registered.
    """

    lists: dict[Partition, set[frozenset[int]]] = field(default_factory=dict)
    leaderless_ms: dict[Partition, int] = field(default_factory=dict)
    in_sync_ms: dict[Partition, dict[int, int]] = field(default_factory=dict)
    isr: dict[Partition, set[int]] = field(default_factory=dict)
    registered_ms: dict[int, list[int]] = field(default_factory=dict)

    def add(self, name: Partition, ids: object) -> None:
        if isinstance(ids, list) and all(isinstance(id_, int) for id_ in ids) and ids:
            self.lists.setdefault(name, set()).add(frozenset(ids))


def out_of_sync(s: Situation, trail: Trail) -> list[str]:
    """Name the moments at which fewer replicas were in sync than the troubles account for."""
    ledger = _Ledger()
    for spec in s.first.topics:
        _take_topic(
            ledger, spec.topic, trail.server.tree.at(f"{TOPICS}{spec.topic}", trail.since_zxid).data
        )
    found = []
    for transaction in trail.transactions:
        for operation in transaction.changes:
            if operation.path == REQUEST:
                for topic, number, ids in _entries(operation):
                    ledger.add((topic, number), ids)
            elif _is_topic(operation.path):
                _take_topic(ledger, operation.path.removeprefix(TOPICS), operation.data)
            elif operation.kind.creates and operation.path.startswith(BROKERS):
                id_ = int(operation.path.removeprefix(BROKERS))
                ledger.registered_ms.setdefault(id_, []).append(transaction.time_ms)
            elif operation.path.endswith("/state") and operation.data:
                found += _check_state(s, ledger, operation, transaction.time_ms)
    return found


def _check_state(s: Situation, ledger: _Ledger, operation: Operation, now_ms: int) -> Iterator[str]:
    topic, _, number, _ = operation.path.removeprefix(TOPICS).split("/")
    name, state = (topic, int(number)), json.loads(operation.data or b"")
    seen = ledger.in_sync_ms.setdefault(name, {})
    isr = set(state["isr"])
    if topic not in s.deleted:
        lists = ledger.lists.get(name, set())
        returned = {b: _returned_ms(s, ledger, b, now_ms) for b in set().union(*lists)}
        hurt = {b for b, at_ms in returned.items() if at_ms and seen.get(b, 0) <= at_ms}
        if not any(ids - hurt <= isr for ids in lists):
            yield f"{name} of {[sorted(i) for i in lists]} without {hurt} has {state}"
        since_ms = ledger.leaderless_ms.pop(name, now_ms)
        # While KRaft has claimed a cluster, nobody elects leaders in the simulation.
        if now_ms - since_ms > LEADERLESS_MS and not s.has(Trouble.KRAFT_MIGRATION):
            yield f"{name} had no leader for {now_ms - since_ms} ms"
        if state["leader"] < 0 and isr - hurt:
            ledger.leaderless_ms[name] = now_ms
    before = ledger.isr.get(name, isr)  # of its first write nobody tells what was before
    ledger.isr[name] = isr
    for id_ in isr:
        returned_ms = _returned_ms(s, ledger, id_, now_ms)
        # A controller that has not noticed yet that a broker was away writes it as in sync.
        if returned_ms + NOTICED_MS <= now_ms or (returned_ms <= now_ms and id_ not in before):
            seen[id_] = now_ms


def _returned_ms(s: Situation, ledger: _Ledger, id_: int, now_ms: int) -> float:
    """Return when a broker was registered again after its last death, or could copy again after
    it fell behind; 0 if neither has happened yet.

    A broker that returned is hurt until it has been in sync again.
    """
    died_ms = max((at_ms for at_ms in s.died_ms.get(id_, ()) if at_ms <= now_ms), default=0)
    if not died_ms:
        return 0
    back_ms = (*ledger.registered_ms.get(id_, ()), *s.caught_up_ms.get(id_, ()))
    return min((at for at in back_ms if at > died_ms), default=math.inf)


def _take_topic(ledger: _Ledger, topic: str, data: bytes | None) -> None:
    try:
        body = json.loads(data or b"")
        partitions: Mapping[str, list[int]] = body["partitions"]
    except (ValueError, KeyError, TypeError):
        return
    for number, ids in partitions.items():
        adding = (body.get("adding_replicas") or {}).get(number, [])
        removing = (body.get("removing_replicas") or {}).get(number, [])
        ledger.add((topic, int(number)), [id_ for id_ in ids if id_ not in removing])
        ledger.add((topic, int(number)), [id_ for id_ in ids if id_ not in adding])


def _entries(operation: Operation) -> list[tuple[str, int, object]]:
    try:
        entries = json.loads(operation.data or b"")["partitions"]
    except (ValueError, KeyError, TypeError):
        return []
    return [(e["topic"], e["partition"], e["replicas"]) for e in entries]


def _is_topic(path: str) -> bool:
    return path.startswith(TOPICS) and "/" not in path.removeprefix(TOPICS)
