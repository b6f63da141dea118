"""Reading a whole cluster once, so that decisions can be pure.

ZooKeeper has no snapshot over many nodes, and Kafka's controller goes on writing while we read. Let
A be the administrative nodes (controller, epoch, brokers, requests, deletions), T the topic nodes
and S the states. What is read, in order:

    sync · A0 · T0 · configs, registrations · S · T1 · A1 · [T2 · A2 · …]

until two readings of A in a row are equal, at most `CLOSINGS_MAX` times.

* A topic whose node is the same in T0 and in the last T had that assignment all the time between
  them, while its states were read: assignment and states fit. One whose node changed is *torn* and
  left out of this pass; one that is gone is deleted, hence absent.
* If the last two readings of A are equal, they held while the last T was read: requests and
  assignments fit. If A changes faster than we read (a running request is rewritten with every
  partition that completes), the topics of entries that differ in the last two are torn as well.
* States move on while they are read, each by itself; a leader or an ISR was true at some moment.
  A state that is not there (yet) leaves leader and ISR unknown.

Nothing here raises because a node vanished, changed, or makes no sense: `readings` reports it. Only
a tree without the parent of all brokers or of all topics is no empty cluster: it was deleted.
"""

from collections.abc import Collection, Sequence

from poolkeeper.errors import Unavailable
from poolkeeper.model.readings import ClusterReading
from poolkeeper.zk import znodes
from poolkeeper.zk.client import gc_pause
from poolkeeper.zk.client.nodes import UNASKED, UNREADABLE, UNREADABLE_BODY, Node
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.reading import readings
from poolkeeper.zk.reading.reading_cache import DecodedTopics
from poolkeeper.zk.reading.readings import ADMIN_PATHS, TRACE_PATHS, Admin, ZnodeReading

CLOSINGS_MAX = 3


def cluster(
    session: Session,
    name: str,
    *,
    topics: Collection[str] | None = None,
    want_configs: bool = True,
    restart_lock: str | None = None,
    decoded: DecodedTopics | None = None,
) -> ClusterReading:
    """Observe the cluster; `name` is ours for it.

    `topics` restricts topics, and `torn` and `damaged`, to these names; everything else is read in
    full. Without `want_configs` topics' configs stay unknown. `restart_lock` is a path in the
    cluster's chroot. `decoded`: topics as they were decoded before. Raises `Unavailable` only for
    what concerns the session.
    """
    known = DecodedTopics() if decoded is None else decoded
    with gc_pause.collector_paused():
        reading = _read(session, topics, known, want_configs=want_configs, lock=restart_lock)
        return readings.cluster_reading(name, reading, decoded)


def cluster_id(session: Session) -> str | None:
    """Return the cluster's id; `None` if its node is missing, damaged, or hidden from us."""
    (node,) = session.read_many([znodes.CLUSTER_ID], unreadable=UNREADABLE)
    return readings.cluster_id(node)[0]


def _read(
    session: Session,
    topics: Collection[str] | None,
    decoded: DecodedTopics,
    *,
    want_configs: bool,
    lock: str | None,
) -> ZnodeReading:
    session.sync()
    admin = _read_admin(session)
    listed = _children_of_kafka(session, znodes.TOPICS)
    names = listed if topics is None else tuple(sorted(set(topics).intersection(listed)))
    paths = [znodes.topic(topic) for topic in names]
    before = _read_topics(session, paths, every=topics is None)
    nodes = decoded.decode(names, before)
    configs = _read_configs(session, names) if want_configs else [UNASKED] * len(names)
    registrations = session.read_many([znodes.broker(id_) for id_ in admin.brokers])
    broker_configs = session.read_many(
        [znodes.broker_config(id_) for id_ in admin.brokers], unreadable=UNREADABLE
    )
    traces = session.read_many(TRACE_PATHS, unreadable=UNREADABLE)
    locked = lock is not None and session.exists(lock)
    states = session.read_bodies(decoded.state_paths(nodes), unreadable=UNREADABLE_BODY)
    after, admins = _close(session, paths, admin)
    return ZnodeReading(
        topics=names,
        before=before,
        after=after,
        nodes=nodes,
        configs=configs,
        states=states,
        brokers=admin.brokers,
        registrations=registrations,
        broker_configs=broker_configs,
        traces=dict(zip(TRACE_PATHS, traces, strict=True)),
        admins=admins,
        locked=locked,
    )


def _read_admin(session: Session) -> Admin:
    """Read A. Topics marked for deletion first: their markers go last."""
    deleting = session.children(znodes.DELETED_TOPICS) or ()
    brokers = _children_of_kafka(session, znodes.BROKER_IDS)
    nodes = session.read_many(ADMIN_PATHS)
    return Admin(dict(zip(ADMIN_PATHS, nodes, strict=True)), frozenset(deleting), brokers)


def _children_of_kafka(session: Session, path: str) -> tuple[str, ...]:
    """List a node that every Kafka cluster has; raises `Unavailable` where it was deleted."""
    found = session.children(path)
    if found is None:
        raise Unavailable(
            f"the nodes of the Kafka cluster are gone from ZooKeeper: there is no {path} any more"
            " (was its chroot deleted, or ZooKeeper emptied?)"
        )
    return found


def _read_topics(session: Session, paths: Sequence[str], *, every: bool) -> list[Node | None]:
    """Read topic nodes; raises `Forbidden` where we may read none of `every` topic.

    One that we may not read is damaged, as all others are that tell nothing.
    """
    found = session.read_many(paths, unreadable=UNREADABLE)
    if every and found and all(node is UNREADABLE for node in found):
        return session.read_many(paths)
    return found


def _read_configs(session: Session, names: Sequence[str]) -> list[Node | None]:
    """Read topics' configs. Few topics have one, but only reading tells which."""
    paths = [znodes.topic_config(name) for name in names]
    return session.read_many(paths, unreadable=UNREADABLE)


def _close(
    session: Session, paths: Sequence[str], admin: Admin
) -> tuple[list[Node | None], tuple[Admin, Admin]]:
    """Read T and A again until A rests; return the last T, and the A before and after it."""
    for closing in range(1, CLOSINGS_MAX + 1):
        nodes = session.read_many(paths, unreadable=UNREADABLE)
        earlier, admin = admin, _read_admin(session)
        if admin == earlier or closing == CLOSINGS_MAX:
            break
    return nodes, (earlier, admin)
