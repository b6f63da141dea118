"""People who edit manifests, stop runs and roll them back."""

from dataclasses import replace

from poolkeeper.model.desired import Claim
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    DeletionPolicy,
    DrainLogDir,
    Goal,
    GoalKind,
    Mode,
    Remedies,
    TopicSpec,
)
from poolkeeper.zk.journal import runs
from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import MB, Situation

STOP = "/poolkeeper/run/stop"
RUN = "/poolkeeper/run"
AWHILE_MS = 15_000


def drain(s: Situation) -> bool:
    """Drain a broker, a dead one if there is, where enough others are left."""
    choices = [
        (pool, id_)
        for pool in s.desired.pools
        for id_ in set(pool.brokers) - pool.drain
        if s.room(pool, {id_}) >= _factor(s, pool.name)
    ]
    if not choices:
        return False
    choices = [c for c in choices if c[1] in s.dead] or choices
    pool, id_ = s.dice.choice(choices)
    s.edit_pool(pool, drain=pool.drain | {id_})
    return True


def undrain(s: Situation) -> bool:
    drained = [pool for pool in s.desired.pools if pool.drain or pool.drain_log_dirs]
    for pool in drained:
        s.edit_pool(pool, drain=frozenset(), drain_log_dirs=())
    return bool(drained)


def drain_log_dir(s: Situation) -> bool:
    """Drain one of a broker's log directories, unless one of them is drained already."""
    drained = {each.broker for pool in s.desired.pools for each in pool.drain_log_dirs}
    choices = [(pool, id_) for pool in s.desired.pools for id_ in {*pool.brokers} - drained]
    if not choices:
        return False
    pool, id_ = s.dice.choice(choices)
    path = s.dice.choice(s.cluster.simulation.brokers[id_].disk.directories)
    s.edit_pool(pool, drain_log_dirs=(*pool.drain_log_dirs, DrainLogDir(id_, path)))
    return True


def change_pool(s: Situation) -> bool:
    choices = [
        (spec, pool.name)
        for spec in s.desired.topics
        for pool in s.desired.pools
        if pool.name != spec.pool and s.room(pool) >= (spec.replication_factor or 1)
    ]
    if not choices:
        return False
    spec, pool = s.dice.choice(choices)
    s.edit_topic(spec, pool=pool)
    return True


def remove_broker(s: Situation) -> bool:
    choices = [
        (pool, id_)
        for pool in s.desired.pools
        for id_ in pool.brokers
        if s.room(pool, {id_}) >= max(1, _factor(s, pool.name))
    ]
    if not choices:
        return False
    choices = [c for c in choices if c[1] in s.dead] or choices
    pool, id_ = s.dice.choice(choices)
    brokers = tuple(each for each in pool.brokers if each != id_)
    log_dirs = tuple(each for each in pool.drain_log_dirs if each.broker != id_)
    s.edit_pool(pool, brokers=brokers, drain=pool.drain - {id_}, drain_log_dirs=log_dirs)
    return True


def change_factor(s: Situation) -> bool:
    choices = [
        (spec, factor)
        for spec in s.desired.topics
        for factor in (1, 2, 3)
        if factor != spec.replication_factor and factor <= s.room(s.pool(spec.pool))
    ]
    if not choices:
        return False
    spec, factor = s.dice.choice(choices)
    s.edit_topic(spec, replication_factor=factor)
    return True


def raise_partitions(s: Situation) -> bool:
    if not s.desired.topics:
        return False
    spec = s.dice.choice(s.desired.topics)
    s.edit_topic(spec, partitions=(spec.partitions or 1) + 1)
    return True


def change_config(s: Situation) -> bool:
    if not s.desired.topics:
        return False
    spec = s.dice.choice(s.desired.topics)
    s.edit_topic(spec, config={"retention.ms": str(s.dice.randrange(1, 9) * 100_000_000)})
    return True


def add_topic(s: Situation) -> bool:
    if any(spec.topic == "n" for spec in s.desired.topics):
        return False
    pool = s.dice.choice(s.desired.pools)
    spec = TopicSpec("n", "default", "n", pool.name, 2, min(2, s.room(pool)))
    topics = sorted((*s.desired.topics, spec), key=lambda each: each.topic)
    s.desired = replace(s.desired, topics=tuple(topics))
    return True


def doom_topic(s: Situation) -> bool:
    choices = [t for t in s.desired.topics if t.deletion_policy is DeletionPolicy.DELETE]
    if not choices:
        return False
    spec = s.dice.choice(choices)
    s.deleted.add(spec.topic)
    rest = tuple(each for each in s.desired.topics if each is not spec)
    doomed = s.desired.doomed | {Claim(spec.topic, spec.owner)}
    s.desired = replace(s.desired, topics=rest, doomed=doomed)
    return True


def rename_pool(s: Situation) -> bool:
    pool = s.dice.choice(s.desired.pools)
    name = f"{pool.name}2"
    s.edit_pool(pool, name=name)
    for spec in s.desired.topics:
        if spec.pool == pool.name:
            s.edit_topic(spec, pool=name)
    return True


def take_back(s: Situation) -> bool:
    """Declare what was declared at first, but for topics that were deleted since."""
    topics = tuple(each for each in s.first.topics if each.topic not in s.deleted)
    edited = s.first.pools != s.desired.pools or topics != s.desired.topics
    s.desired = replace(s.desired, pools=s.first.pools, topics=topics)
    return edited


def run_repair(s: Situation) -> bool:
    """End the process, run `poolkeeper repair`, start another: repair works while no other does."""
    s.repair_due = True
    return True


def change_goals(s: Situation) -> bool:
    pool = s.dice.choice(s.desired.pools)
    kinds = (GoalKind.BYTES, GoalKind.REPLICAS, GoalKind.LEADERS)
    s.edit_pool(pool, goals=tuple(Goal(kind, percent=5.0) for kind in s.dice.sample(kinds, 2)))
    return True


def raise_min_isr(s: Situation) -> bool:
    if not s.desired.topics:
        return False
    spec = s.dice.choice(s.desired.topics)
    s.edit_topic(spec, config={"min.insync.replicas": str(spec.replication_factor or 1)})
    return True


def ask(s: Situation) -> bool:
    """Ask for approval of plans for a while."""
    if s.desired.cluster.approval.policy is ApprovalPolicy.MANUAL:
        return False
    s.edit_cluster(approval=Approval(ApprovalPolicy.MANUAL))
    s.later(AWHILE_MS, lambda: s.edit_cluster(approval=Approval(ApprovalPolicy.AUTO)))
    return True


def pause(s: Situation) -> bool:
    return _mode(s, Mode.PAUSED)


def plan_only(s: Situation) -> bool:
    return _mode(s, Mode.PLAN_ONLY)


def roll_back_mode(s: Situation) -> bool:
    return _mode(s, Mode.ROLL_BACK)


def stop(s: Situation) -> bool:
    return _stop(s, StopRequest())


def roll_back(s: Situation) -> bool:
    return _stop(s, StopRequest(at_once=True, allow_failover=s.dice.random() < 0.5))


def allow(s: Situation) -> bool:
    s.edit_execution(remedies=Remedies(True, True, True))
    return True


def change_throttle(s: Situation) -> bool:
    throttle = s.desired.cluster.execution.throttle
    s.edit_execution(throttle=replace(throttle, rate_bytes_per_s=3 * MB))
    return True


def _factor(s: Situation, pool: str) -> int:
    """Return the largest replication factor in a pool."""
    return max((t.replication_factor or 1 for t in s.desired.topics if t.pool == pool), default=0)


def _mode(s: Situation, mode: Mode) -> bool:
    if s.desired.cluster.mode is not Mode.APPLY:
        return False
    s.edit_cluster(mode=mode)
    s.later(AWHILE_MS, lambda: s.edit_cluster(mode=Mode.APPLY))
    return True


def _stop(s: Situation, stop: StopRequest) -> bool:
    if not s.cluster.exists(RUN) or s.cluster.exists(STOP):
        return False
    s.cluster.create(STOP, runs.encode_stop(stop))
    return True


PEOPLE = {
    Trouble.DRAINED: drain,
    Trouble.UNDRAINED: undrain,
    Trouble.LOG_DIR_DRAINED: drain_log_dir,
    Trouble.POOL_CHANGED: change_pool,
    Trouble.BROKER_OUT_OF_POOL: remove_broker,
    Trouble.FACTOR_CHANGED: change_factor,
    Trouble.PARTITIONS_RAISED: raise_partitions,
    Trouble.CONFIG_CHANGED: change_config,
    Trouble.TOPIC_ADDED: add_topic,
    Trouble.TOPIC_DOOMED: doom_topic,
    Trouble.POOL_RENAMED: rename_pool,
    Trouble.REPAIRED: run_repair,
    Trouble.TAKEN_BACK: take_back,
    Trouble.GOALS_CHANGED: change_goals,
    Trouble.MIN_ISR_RAISED: raise_min_isr,
    Trouble.APPROVAL_ASKED: ask,
    Trouble.PAUSED: pause,
    Trouble.PLAN_ONLY: plan_only,
    Trouble.ROLL_BACK_MODE: roll_back_mode,
    Trouble.STOPPED: stop,
    Trouble.ROLLED_BACK: roll_back,
    Trouble.FAILOVER_ALLOWED: allow,
    Trouble.THROTTLE_CHANGED: change_throttle,
}
