"""The throttles that no run accounts for, and the records of throttles that cannot be read.

What a run of ours left is restored to what its records say was before. What nobody accounts for may
be a person's: it is unset only on request. A damaged record says nothing any more: it is removed,
and what is still set beside it is told as what nobody accounts for. While a run is recorded, all of
it waits: the run restores what is its own. While moves of a lost run go on, what is ours waits for
the executor that takes them up.
"""

from collections.abc import Iterator

from poolkeeper.errors import NodeDamage
from poolkeeper.model.execution.runs import ThrottleValues
from poolkeeper.model.execution.throttles import LeftThrottles, RecordedThrottles
from poolkeeper.planning.run_state.reassignments import lost_runs
from poolkeeper.planning.run_state.throttling import left_throttles, throttles
from poolkeeper.zk import znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal, throttle_records
from poolkeeper.zk.journal.throttle_records import DEFAULT, Entity
from poolkeeper.zk.repair import our_findings
from poolkeeper.zk.repair.values import Examined, Finding, Remedy

FLAG = "--remove-unaccounted-throttles"
_CHARACTERS_MAX = 60
_RUN = "a run is recorded, which may write it again: `poolkeeper apply` or `rollback` ends the run"
_NEEDED = (
    "what that run requested goes on: `poolkeeper apply` or `run` takes it up, and takes them off"
    " once it has ended"
)
_RECORD_REMOVED = (
    "it is removed: what was before is not known any more, and throttles that are still set beside"
    " it are then told as such that no run accounts for"
)


def findings(examined: Examined) -> Iterator[Finding]:
    """Yield damaged records, and what a run left and what nobody accounts for without a run."""
    session, cluster = examined.session, examined.reading.cluster
    view = journal.read_status(session)
    kept = our_findings.keeps_run(session, view)
    for damage in view.throttles.damage:
        yield _damaged(session, damage, kept=kept)
    if kept:
        return
    left = left_throttles.find(cluster, view.throttles, ())
    moving = session.exists(znodes.REASSIGNMENT) or any(
        partition.moving for topic in cluster.topics.values() for partition in topic.partitions
    )
    also = "; what is being moved now is limited no more" if moving else ""
    needed = bool(lost_runs.find(cluster, view.request).in_flight)
    for name in left.recorded.topics:
        yield _left(session, name, view.throttles.topics[name], also, needed=needed)
    for id_ in left.recorded.brokers:
        yield _left(session, id_, view.throttles.brokers[id_], also, needed=needed)
    yield from _unreadable(left)
    for name in left.others.topics:
        config = cluster.topics[name].config or {}
        yield _other(examined, name, {key: config.get(key) for key in throttles.TOPIC_KEYS}, also)
    for id_ in left.others.brokers:
        values = view.throttles.broker_values[id_]
        limits = {key: values.get(key) for key in throttles.REPLICATION_KEYS}
        yield _other(examined, id_, limits, also)
    if left.others.default:
        values = view.throttles.default_values
        limits = {key: values.get(key) for key in throttles.REPLICATION_KEYS}
        yield _other(examined, DEFAULT, limits, also)


def _damaged(session: Session, damage: NodeDamage, *, kept: bool) -> Finding:
    if damage.later_version:
        effect = "a later Poolkeeper wrote it: use that release"
        return Finding(damage.path, str(damage), Remedy.NONE, effect)
    if kept:
        return Finding(damage.path, damage.found, Remedy.NONE, _RUN)
    version = _version(session, damage.path)
    return Finding(damage.path, damage.found, Remedy.REMOVE, _RECORD_REMOVED, version)


def _left(
    session: Session, entity: Entity, recorded: RecordedThrottles, also: str, *, needed: bool
) -> Finding:
    """Restore what was before; what moves of a lost run still `needed` is left."""
    record, live = recorded.record, recorded.live or {}
    restored = throttles.values_to_restore(live, record.original, [record.ours])
    found = f"the throttles of a run that is gone are not set on {_name(entity)} any more"
    effect = "the record of them is removed"
    if restored:
        set_ = {key: live[key] for key in restored}
        found = f"a run that is gone left throttles on {_name(entity)}: {_shown(set_)}"
        effect = f"what was before is restored: {_shown(restored)}{also}"
    path = throttle_records.record_path(entity)
    version = _version(session, path)
    if needed:
        return Finding(path, found, Remedy.NONE, _NEEDED, version)
    return Finding(path, found, Remedy.RESTORE, effect, version, throttled=entity)


def _unreadable(left: LeftThrottles) -> Iterator[Finding]:
    """Yield the records whose throttles cannot be compared with a config."""
    entities: list[Entity] = [
        *sorted({*left.ours.topics} - {*left.recorded.topics}),
        *sorted({*left.ours.brokers} - {*left.recorded.brokers}),
    ]
    for entity in entities:
        found = f"a run that is gone throttled {_name(entity)}"
        config = throttle_records.config_path(entity)
        effect = f"{config} cannot be read: once it can, `poolkeeper repair` restores what was"
        yield Finding(throttle_records.record_path(entity), found, Remedy.NONE, effect)


def _other(examined: Examined, entity: Entity, values: ThrottleValues, also: str) -> Finding:
    set_ = {key: value for key, value in values.items() if value is not None}
    path = throttle_records.config_path(entity)
    found = f"no run accounts for the throttles on {_name(entity)}: {_shown(set_)}"
    if not examined.unset_throttles:
        effect = f"somebody else may have set them and need them: {FLAG} unsets them"
        return Finding(path, found, Remedy.NONE, effect)
    effect = f"they are unset, and the brokers are told{also}"
    version = _version(examined.session, path)
    return Finding(path, found, Remedy.UNSET, effect, version, throttled=entity)


def _version(session: Session, path: str) -> int | None:
    node = session.read(path)
    return None if node is None else node.version


def _name(entity: Entity) -> str:
    if entity == DEFAULT:
        return "the default of all brokers"
    return f"broker {entity}" if isinstance(entity, int) else f"topic {entity}"


def _shown(values: ThrottleValues) -> str:
    """Show every key with its value, or with the beginning of a long one."""
    return ", ".join(
        f"{key} unset" if value is None else f"{key}={_cut(value)}" for key, value in values.items()
    )


def _cut(value: str) -> str:
    short = value if len(value) <= _CHARACTERS_MAX else f"{value[:_CHARACTERS_MAX]}…"
    return short.encode(errors="replace").decode()
