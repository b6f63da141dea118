"""Brokers that die, return, restart, fall behind, lose their sessions, and whose disks fill."""

from dataclasses import replace

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SESSION_MS
from poolkeeper.sandbox.simulation import BrokerSpec
from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import DISK_BYTES, MB, Situation
from simulation.kraft import CONTROLLER, MIGRATION

STALLED_BYTES_PER_S = 1.0
MISSED_BYTES = 1 * MB
"""What a leader got while a follower of it fell behind."""


def change_controller(s: Situation) -> bool:
    if not s.cluster.exists(CONTROLLER) or s.cluster.exists(MIGRATION):
        return False
    s.cluster.delete(CONTROLLER)
    return True


def controller_dies(s: Situation) -> bool:
    controller = s.cluster.simulation.controller
    return controller is not None and _dies(s, controller, returns=True)


def broker_dies(s: Situation) -> bool:
    return _dies(s, s.dice.choice(s.live), returns=False)


def broker_returns(s: Situation) -> bool:
    return _dies(s, s.dice.choice(s.live), returns=True)


def broker_restarts(s: Situation) -> bool:
    id_ = s.dice.choice(s.live)
    if not _may_go(s):
        return False
    s.died_ms.setdefault(id_, []).append(s.now_ms)
    s.cluster.simulation.stop_broker(id_)
    s.later(s.dice.uniform(8_000, 15_000), lambda: start(s, id_))
    return True


def rack_changes(s: Situation) -> bool:
    id_ = s.dice.choice(s.live)
    if not _dies(s, id_, returns=True):
        return False
    broker = s.cluster.simulation.brokers[id_]
    broker._registration = replace(broker._registration, rack=s.dice.choice("abc"))
    return True


def is_emptied(s: Situation) -> bool:
    id_ = s.dice.choice(s.live)
    if not _dies(s, id_, returns=True):
        return False
    s.cluster.simulation.brokers[id_].disk.logs.clear()
    return True


def joins(s: Situation) -> bool:
    """A new broker starts, and is added to a pool."""
    id_ = max(s.cluster.simulation.brokers) + 1
    s.cluster.simulation.add_broker(BrokerSpec(id_, rack=s.dice.choice("abc")))
    pool = s.dice.choice(s.desired.pools)
    s.edit_pool(pool, brokers=(*pool.brokers, id_))
    return True


def session_ends(s: Situation) -> bool:
    id_ = s.dice.choice(s.live)
    if not _may_go(s):
        return False
    s.died_ms.setdefault(id_, []).append(s.now_ms)
    s.cluster.server.expire(s.cluster.simulation.brokers[id_].client.session_id)
    return True


def lags(s: Situation) -> bool:
    """A broker's network is as good as gone for a while; leaders take it out of their ISRs."""
    simulation = s.cluster.simulation
    id_ = s.dice.choice(s.live)
    followed = [
        (leader, tp)
        for leader in simulation.brokers.values()
        if leader.alive and leader.id != id_
        for tp, role in sorted(leader.roles.items())
        if role.state.leader == leader.id and id_ in role.state.isr
    ]
    if not followed or id_ in simulation.surroundings.network:
        return False
    s.died_ms.setdefault(id_, []).append(s.now_ms)
    simulation.transfers.settle()
    simulation.surroundings.network[id_] = STALLED_BYTES_PER_S
    disk = simulation.brokers[id_].disk
    for leader, tp in followed:
        if (log := disk.logs.get(tp)) is not None:
            disk.hold(log, max(0, log.bytes - MISSED_BYTES))
        leader.isr_expansion.fell_behind(tp, id_)
    simulation.transfers.changed()

    def catch_up() -> None:
        if simulation.brokers[id_].alive:
            s.caught_up_ms.setdefault(id_, []).append(s.now_ms)
        simulation.surroundings.network.pop(id_)
        simulation.transfers.changed()

    s.later(s.dice.uniform(2_000, 20_000), catch_up)
    return True


def disks_fill(s: Situation) -> bool:
    """The partitions of a topic grow to twice a disk, then retention takes them back."""
    # One that is grown already would shrink to what it is now.
    names = [name for name, _ in s.partitions() if s.sizes.get(name, DISK_BYTES + 1) <= DISK_BYTES]
    if not names or s.dead:
        return False
    name = s.dice.choice(names)
    before = s.sizes[name]
    _resize(s, name, 2 * DISK_BYTES)

    def shrink() -> None:
        _resize(s, name, before)

    s.later(15_000, shrink)
    return True


def log_dir_fails(s: Situation) -> bool:
    """A log directory of a broker fails for good."""
    return _log_dir_fails(s) is not None


def log_dir_is_replaced(s: Situation) -> bool:
    """A log directory fails; later the broker is started with an empty one in its place."""
    id_ = _log_dir_fails(s)
    if id_ is None:
        return False
    s.later(s.dice.uniform(2_000, 40_000), lambda: replace_log_dirs(s, id_))
    return True


def _log_dir_fails(s: Situation) -> int | None:
    """Return the broker of which a log directory failed, if one could."""
    id_ = s.dice.choice(s.live)
    simulation = s.cluster.simulation
    disk = simulation.brokers[id_].disk
    if disk.failed or not _may_go(s):
        return None
    s.died_ms.setdefault(id_, []).append(s.now_ms)
    simulation.fail_log_dir(id_, s.dice.randrange(len(disk.directories)))
    s.busy(SESSION_MS + 2000)
    return id_


def replace_log_dirs(s: Situation, id_: int) -> None:
    """Start a broker anew with empty directories in the place of those that failed."""
    simulation = s.cluster.simulation
    if simulation.brokers[id_].alive:
        s.died_ms.setdefault(id_, []).append(s.now_ms)
        simulation.kill(id_)
    simulation.brokers[id_].disk.replace_failed()
    s.later(SESSION_MS + 1000, lambda: start(s, id_))


def start(s: Situation, id_: int) -> None:
    """Let a broker return; it is registered when the session of its life before has ended."""
    if not s.cluster.simulation.brokers[id_].alive:
        s.cluster.simulation.start_broker(id_)


def _resize(s: Situation, name: tuple[str, int], bytes_: int) -> None:
    s.sizes[name] = bytes_
    for broker in s.cluster.simulation.brokers.values():
        for tp, log in broker.disk.logs.items():
            if tuple(tp) == name:
                log.bytes = min(log.bytes, bytes_)
    s.cluster.simulation.set_size(*name, bytes_)


def _dies(s: Situation, id_: int, *, returns: bool) -> bool:
    if not _may_go(s):
        return False
    s.died_ms.setdefault(id_, []).append(s.now_ms)
    s.cluster.simulation.kill(id_)
    s.busy(SESSION_MS + 2000)
    if returns:
        s.later(s.dice.uniform(500, 20_000), lambda: start(s, id_))
    return True


def _may_go(s: Situation) -> bool:
    """Whether a broker may go: no more than two, and one at least stays."""
    return len(s.dead) < min(2, len(s.cluster.simulation.brokers) - 2)


MACHINES = {
    Trouble.CONTROLLER_CHANGES: change_controller,
    Trouble.CONTROLLER_DIES: controller_dies,
    Trouble.BROKER_DIES: broker_dies,
    Trouble.BROKER_RETURNS: broker_returns,
    Trouble.BROKER_RESTARTS: broker_restarts,
    Trouble.RACK_CHANGED: rack_changes,
    Trouble.BROKER_EMPTIED: is_emptied,
    Trouble.BROKER_JOINS: joins,
    Trouble.BROKER_SESSION_ENDS: session_ends,
    Trouble.BROKER_LAGS: lags,
    Trouble.DISK_FILLS: disks_fill,
    Trouble.LOG_DIR_FAILS: log_dir_fails,
    Trouble.LOG_DIR_REPLACED: log_dir_is_replaced,
}
