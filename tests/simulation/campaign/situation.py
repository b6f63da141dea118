"""What a seed draws, and what happens to it: a cluster, what is declared, and a record of facts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from builders import cluster_spec, pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    Capacity,
    DeletionPolicy,
    Execution,
    Heal,
    Mode,
    Remedies,
    ResourcePoolSpec,
    Throttle,
    ThrottleMode,
    TopicSpec,
)
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.campaign.kinds import Trouble
from simulation.guarded import HidingCluster

MB = 1_000_000
RATE = 2 * MB
RESTART_LOCK = "/ops/restart"
DISK_BYTES = 400 * MB
RELEASES = ("3.9.2", "3.9.2", "2.8.2", "2.8.2", "2.0.1", "2.0.1", "2.3.1", "1.1.1", "0.10.2.2")
SHAPES = {
    3: (((1, 2, 3),),),
    4: (((1, 2), (3, 4)), ((1, 2, 3, 4),)),
    5: (((1, 2, 3), (4, 5)), ((1, 2), (3, 4, 5))),
}
Partition = tuple[str, int]


@dataclass(slots=True)
class Situation:
    """A run of the campaign; troubles change it.

    `tells_logs`: brokers that are asked list their logs, and tell their release. `sizes`: the bytes
    of each partition. `quiet_from_ms`: nothing is under way after that.
    `skew_ms`: what the clock of our process is ahead.
    `died_ms`: when each broker did, or fell behind; `caught_up_ms`: when it could copy again.
    `away`: when ZooKeeper is away, from and to.
    `foreign_throttles`: config nodes in which somebody else set throttles. `deleted`: topics that
    somebody deleted or asked to delete. `struck`: what happened, with its time.
    `hidden`: nodes that Poolkeeper may not read, or not write.
    `offer`: the plan of a Rebalance that is neither done nor refused; `offer_due`: one is to be
    made. `window`: what such a plan waits for. `repair_due`: a person runs `repair` before the next
    process begins. `claims`: from which zxid to which one a KRaft controller had claimed the
    cluster.
    """

    seed: int
    dice: Random
    cluster: HidingCluster
    desired: Desired
    first: Desired
    asks_brokers: bool
    tells_logs: bool
    sizes: dict[Partition, int]
    quiet_from_ms: int = 0
    skew_ms: int = 0
    died_ms: dict[int, list[int]] = field(default_factory=dict)
    caught_up_ms: dict[int, list[int]] = field(default_factory=dict)
    away: tuple[int, int] | None = None
    foreign_throttles: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    edited: dict[str, str] = field(default_factory=dict)
    struck: list[tuple[int, Trouble]] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    offer: ExternalPlan | None = None
    offer_due: bool = False
    window: Wait | None = None
    repair_due: bool = False
    claims: list[tuple[int, int]] = field(default_factory=list)

    @property
    def now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    @property
    def live(self) -> list[int]:
        return [id_ for id_, broker in self.cluster.simulation.brokers.items() if broker.alive]

    @property
    def dead(self) -> list[int]:
        return [id_ for id_, broker in self.cluster.simulation.brokers.items() if not broker.alive]

    def has(self, *kinds: Trouble) -> bool:
        """Whether one of these happened."""
        return any(kind in kinds for _, kind in self.struck)

    def later(self, delay_ms: float, action: Callable[[], Any]) -> None:
        """Do something later; nothing is quiet before."""
        self.busy(delay_ms + 1000)
        self.cluster.clock.after(delay_ms, action)

    def busy(self, delay_ms: float) -> None:
        self.quiet_from_ms = max(self.quiet_from_ms, self.now_ms + int(delay_ms))

    def topics(self) -> list[str]:
        """The topics that exist and are whole."""
        children = self.cluster.client.children("/brokers/topics") or ()
        bodies = {topic: self.body(f"/brokers/topics/{topic}") or {} for topic in children}
        return [topic for topic, body in bodies.items() if "partitions" in body]

    def body(self, path: str) -> Any:
        """Return a node's body, None without a node or if it makes no sense."""
        try:
            body = self.cluster.read(path)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None

    def partitions(self) -> list[tuple[Partition, list[int]]]:
        """The partitions of whole topics, with their replicas."""
        return [
            ((topic, int(number)), ids)
            for topic in self.topics()
            for number, ids in self.body(f"/brokers/topics/{topic}")["partitions"].items()
        ]

    def pool(self, name: str) -> ResourcePoolSpec:
        return next(pool for pool in self.desired.pools if pool.name == name)

    def edit_topic(self, spec: TopicSpec, **fields: Any) -> None:
        after = tuple(
            replace(each, **fields) if each.topic == spec.topic else each
            for each in self.desired.topics
        )
        self.desired = replace(self.desired, topics=after)

    def edit_pool(self, pool: ResourcePoolSpec, **fields: Any) -> None:
        after = tuple(
            replace(each, **fields) if each.name == pool.name else each
            for each in self.desired.pools
        )
        self.desired = replace(self.desired, pools=after)

    def edit_cluster(self, **fields: Any) -> None:
        self.desired = replace(self.desired, cluster=replace(self.desired.cluster, **fields))

    def edit_execution(self, **fields: Any) -> None:
        self.edit_cluster(execution=replace(self.desired.cluster.execution, **fields))

    def room(self, pool: ResourcePoolSpec, without: Iterable[int] = ()) -> int:
        """How many brokers of a pool can hold replicas."""
        return len(set(pool.brokers) - pool.drain - set(without))


def drawn(seed: int, releases: Sequence[str] = RELEASES) -> Situation:
    """Draw the situation of a seed: a cluster at rest of one of the releases."""
    dice = Random(seed)
    count = dice.choice((3, 4, 4, 5, 5))
    shape = dice.choice(SHAPES[count])
    pools = [
        pool_spec(name, *ids, cluster="c", capacity=Capacity(disk_bytes=DISK_BYTES))
        for name, ids in zip("pq", shape, strict=False)
    ]
    kafka = dice.choice(releases)
    spec = SimulationSpec(spread(count), kafka=kafka, seed=seed, network_bytes_per_s=10 * MB)
    cluster = HidingCluster(spec)
    cluster.start()
    topics, sizes = [], {}
    for name in ("t", "u")[: dice.choice((1, 1, 2))]:
        pool = dice.choice(pools)
        factor = min(dice.choice((1, 2, 2, 2, 3)), len(pool.brokers))
        lists = [dice.sample(pool.brokers, factor) for _ in range(dice.choice((1, 2, 3)))]
        cluster.create_topic(name, *lists)
        for number in range(len(lists)):
            sizes[name, number] = dice.randrange(1, 10) * MB
            cluster.simulation.set_size(name, number, sizes[name, number])
        deletion = dice.choice((DeletionPolicy.RETAIN, DeletionPolicy.DELETE))
        topics.append(
            TopicSpec(
                name, "default", name, pool.name, len(lists), factor, deletion_policy=deletion
            )
        )
    first = Desired(_cluster_spec(dice), tuple(pools), tuple(topics))
    cluster.create("/ops", b"")
    cluster.settle()
    asks = dice.random() < 0.6
    tells_logs = asks and dice.random() < 0.6
    return Situation(seed, dice, cluster, first, first, asks, tells_logs, sizes)


def _cluster_spec(dice: Random) -> Any:
    mode = dice.choice((ThrottleMode.FIXED,) * 4 + (ThrottleMode.ADAPTIVE, ThrottleMode.NONE))
    remedies = Remedies(dice.random() < 0.5, dice.random() < 0.5, dice.random() < 0.5)
    late = dice.random() < 0.3
    execution = Execution(
        max_moves=dice.choice((1, 2, 8)),
        throttle=Throttle(mode, RATE),
        stage_deadline_s=25 if late else 6 * 3600,
        roll_back_on_deadline=late,
        remedies=remedies,
        restart_lock=RESTART_LOCK,
    )
    return cluster_spec(
        "c",
        mode=Mode.APPLY,
        approval=Approval(ApprovalPolicy.AUTO),
        execution=execution,
        heal=Heal(enabled=dice.random() < 0.5, after_s=10),
    )
