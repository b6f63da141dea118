"""Whether the steps of a plan that are no moves may be taken.

- Topics are created as declared, in their pool, well spread.
- Partitions only grow, as declared; in a keyed topic only with consent to the new count.
- Configs are those declared, and never throttle keys.
- Topics are deleted only where the ownership record says Delete, and never Kafka's own.
- What may not be touched is not touched.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from poolkeeper.algorithms.internal_topics import commits_need, config_problem, keeps
from poolkeeper.algorithms.names import (
    collision_problem,
    is_internal,
    metric_name,
    ownership_problem,
    topic_name_problem,
)
from poolkeeper.model.columns.partition_queries import numbers_of
from poolkeeper.model.desired import Claim
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    MoveLogDir,
    SetConfig,
    Step,
)
from poolkeeper.model.specs import DeletionPolicy, Strategy, TopicDefaults, TopicSpec
from poolkeeper.model.topic_config.destructive_changes import destructive_changes
from poolkeeper.model.topic_config.validation import is_owned_by_executor
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.audit.excess import partition_excess
from poolkeeper.planning.audit.violations import (
    Violation,
    fault_of_list,
    foreign_move,
    untouchable,
    unusable_targets,
)
from poolkeeper.planning.rules import Rules
from poolkeeper.text import count as counted

Wrong = Iterator[tuple[str, str]]
"""Pairs of a law and a sentence."""


def step_violations(rules: Rules, steps: Sequence[Step], records: Records) -> Iterator[Violation]:
    """Every violation of the steps, each checked by itself, and of two steps of one kind."""
    yield from _repetitions(steps)
    created = Counter(metric_name(step.topic) for step in steps if isinstance(step, CreateTopic))
    for step in steps:
        if isinstance(step, ElectLeaders):
            yield from _wrong_elections(rules, step, steps)
            continue
        if isinstance(step, CreateTopic) and created[metric_name(step.topic)] > 1:
            yield Violation("name", "the plan creates another that collides", step.topic)
        for law, message in _wrong(rules, step, records):
            yield Violation(law, message, step.topic)


def _repetitions(steps: Sequence[Step]) -> Iterator[Violation]:
    """Topics for which the plan has two steps of one kind."""
    named = Counter(
        (type(step).__name__, step.topic)
        for step in steps
        if isinstance(step, CreateTopic | AddPartitions | SetConfig | DeleteTopic)
    )
    for (kind, topic), count in named.items():
        if count > 1:
            yield Violation("once", f"the plan holds {count} steps {kind} for it", topic)


def _wrong(
    rules: Rules,
    step: CreateTopic | AddPartitions | SetConfig | DeleteTopic | MoveLogDir,
    records: Records,
) -> Wrong:
    """What is wrong with a step about one topic."""
    match step:
        case CreateTopic():
            return _wrong_creation(rules, step)
        case AddPartitions():
            return _wrong_growth(rules, step)
        case SetConfig():
            return _wrong_config(rules, step, records.topics.get(step.topic, TopicRecord("")))
        case DeleteTopic():
            return _wrong_deletion(rules, step, records)
        case MoveLogDir():
            return _wrong_log_dir(rules, step)


def _wrong_creation(rules: Rules, step: CreateTopic) -> Wrong:
    cluster, spec = rules.cluster, rules.specs.get(step.topic)
    namesakes = rules.namesakes.get(metric_name(step.topic), ())
    reason = topic_name_problem(step.topic) or collision_problem(step.topic, namesakes)
    if reason:
        yield "name", f"the name {reason}"
    if ownership_problem(step.topic):
        yield "internal", f"the name {ownership_problem(step.topic)}"
    taken = (cluster.topics, cluster.torn, cluster.damaged, cluster.deleting)
    if any(step.topic in names for names in taken):
        yield "creation", "a topic of that name exists or is being deleted"
    if spec is None:
        yield "creation", "no Topic declares it"
        return
    untouchable = rules.home(step.topic).untouchable
    if untouchable:
        yield "untouched", untouchable
        return
    if step.pool != spec.pool:
        yield "creation", f"pool {step.pool} is not the declared one, {spec.pool}"
    if dict(step.config) != dict(spec.config):
        yield "config", "the config is not the declared one"
    yield from _throttle_keys(step.config)
    yield from _wrong_counts(rules, step, spec)
    yield from _wrong_lists(rules, spec, step.replicas, 0)


def _wrong_counts(rules: Rules, step: CreateTopic, spec: TopicSpec) -> Wrong:
    defaults = rules.pools[spec.pool].defaults
    wanted = _declared(spec, defaults, len(step.replicas), len((*step.replicas, ())[0]))
    if not step.replicas or len(step.replicas) != wanted[0]:
        yield "creation", f"{counted(len(step.replicas), 'partition')}, declared: {wanted[0]}"
    wrong = sorted({len(replicas) for replicas in step.replicas} - {wanted[1]})
    if wrong and spec.manual is None:
        yield "creation", f"partitions with {counted(wrong[0], 'replica')}, declared: {wanted[1]}"


def _declared(
    spec: TopicSpec, defaults: TopicDefaults, partitions: int, factor: int
) -> tuple[int, int]:
    """Partitions and replication factor as declared, else as in the step."""
    if spec.manual is not None:
        return len(spec.manual), factor
    return (
        spec.partitions or defaults.partitions or partitions,
        spec.replication_factor or defaults.replication_factor or factor,
    )


def _wrong_growth(rules: Rules, step: AddPartitions) -> Wrong:
    reason = untouchable(rules, step.topic) or foreign_move(rules, step.topic)
    if reason:
        yield "untouched", reason
        return
    topic, spec = rules.cluster.topics[step.topic], rules.specs.get(step.topic)
    if is_internal(step.topic):
        yield "internal", "an internal topic of Kafka keeps its partitions"
    ids = [partition.partition for partition in topic.partitions]
    if ids != list(range(step.first)) or not step.replicas:
        yield "growth", f"new partitions start at {step.first}, the topic has {len(ids)}"
        return
    if spec is None:
        yield "untouched", "no Topic declares more partitions"
        return
    manual = len(spec.assignment or ()) if spec.strategy is Strategy.MANUAL else 0
    yield from _wrong_count(spec, step.first + len(step.replicas), manual)
    if topic.partitions and not manual:
        yield from _wrong_factor(spec, len(topic.partitions[0].replicas), step.replicas)
    yield from _wrong_lists(rules, spec, step.replicas, step.first)


def _wrong_count(spec: TopicSpec, grown: int, manual: int) -> Wrong:
    """Why the topic may not have `grown` partitions; `manual`: as its manual assignment says."""
    if grown not in (spec.partitions, manual):
        declared = spec.partitions or manual or "none"
        yield "growth", f"{counted(grown, 'partition')}, declared: {declared}"
    if spec.keyed and spec.accept_key_remap_to != grown:
        yield "keyed", f"it is keyed and has not accepted {counted(grown, 'partition')}"


def _wrong_factor(spec: TopicSpec, usual: int, lists: Sequence[Replicas]) -> Wrong:
    """Why new partitions have neither as many replicas as the first one nor as declared."""
    factors = {usual, spec.replication_factor or usual}
    wrong = sorted({len(replicas) for replicas in lists} - factors)
    if wrong:
        found = counted(wrong[0], "replica")
        yield "growth", f"new partitions have {found}, the topic has {min(factors)}"


def _wrong_lists(rules: Rules, spec: TopicSpec, lists: Sequence[Replicas], first: int) -> Wrong:
    """Why new partitions from `first` on may not have these lists."""
    home = rules.home(spec.topic)
    for partition, replicas in enumerate(lists, first):
        reason = fault_of_list(replicas)
        if reason:
            yield "list", f"partition {partition}: {reason}"
            continue
        for reason in unusable_targets(rules, spec.topic, set(replicas)):
            yield "target", f"partition {partition}: {reason}"
        excess = partition_excess(rules, home, replicas)
        if spec.strategy is Strategy.BALANCED and excess[-1]:
            yield "racks", f"partition {partition}: {list(replicas)} are not spread over the racks"
    if spec.strategy is Strategy.MANUAL:
        wanted = (spec.assignment or ())[first : first + len(lists)]
        if tuple(lists) != tuple(wanted):
            yield "creation", "the replicas are not those of the manual assignment"


def _wrong_config(rules: Rules, step: SetConfig, record: TopicRecord) -> Wrong:
    spec, reason = rules.specs.get(step.topic), untouchable(rules, step.topic)
    if reason:
        yield "untouched", reason
        return
    yield from _throttle_keys({**step.set, **dict.fromkeys(step.unset, "")})
    yield from _breaking(rules, step)
    yield from _undeclared({} if spec is None else spec.config, step, record)
    old = rules.cluster.topics[step.topic].config or {}
    both = {key: value for key, value in step.set.items() if key in old}
    losses = destructive_changes({key: old[key] for key in both}, both)
    if losses and not step.destructive:
        yield "destructive", f"{losses[0]}, and the step is not marked as destructive"


def _undeclared(declared: Mapping[str, str], step: SetConfig, record: TopicRecord) -> Wrong:
    """Keys that no Topic declares, or that the operator never set."""
    for key in sorted(step.set):
        if declared.get(key) != step.set[key]:
            yield "config", f"{key}={step.set[key]} is not declared"
    for key in step.unset:
        if key in declared or key not in record.declared_keys:
            yield "config", f"{key} is not ours to unset"


def _breaking(rules: Rules, step: SetConfig) -> Wrong:
    """Configs that would keep Kafka from using its own topic."""
    for key, value in sorted(step.set.items()):
        if said := config_problem(step.topic, key, value):
            yield "internal", f"{key}: {said}"
    for key in step.unset:
        if keeps(step.topic, key):
            yield "internal", f"{key} of an internal topic of Kafka is never unset"
    replicas = [len(p.replicas) for p in rules.cluster.topics[step.topic].partitions]
    if is_internal(step.topic) and replicas and commits_need(step.set) > min(replicas):
        least = counted(min(replicas), "replica")
        yield "internal", f"min.insync.replicas is more than its {least}"


def _throttle_keys(config: Mapping[str, str]) -> Wrong:
    for key in sorted(filter(is_owned_by_executor, config)):
        yield "throttle", f"{key} belongs to the executor"


def _wrong_elections(
    rules: Rules, step: ElectLeaders, steps: Sequence[Step]
) -> Iterator[Violation]:
    created = {s.topic: len(s.replicas) for s in steps if isinstance(s, CreateTopic)}
    added = {s.topic: s.first + len(s.replicas) for s in steps if isinstance(s, AddPartitions)}
    seen: dict[str, tuple[str, int, frozenset[int]]] = {}
    for topic, partition in step.partitions:
        if topic not in seen:  # most partitions of a plan's elections share a few topics
            known = rules.cluster.topics.get(topic)
            reason = "" if topic in created else untouchable(rules, topic)
            new = max(created.get(topic, 0), added.get(topic, 0))
            seen[topic] = reason, new, frozenset(numbers_of(known.partitions if known else ()))
        reason, new, numbers = seen[topic]
        if reason:
            yield Violation("untouched", reason, topic, partition)
        elif partition >= new and partition not in numbers:
            yield Violation("election", "the partition does not exist", topic, partition)


def _wrong_deletion(rules: Rules, step: DeleteTopic, records: Records) -> Wrong:
    cluster, topic = rules.cluster, rules.cluster.topics.get(step.topic)
    if ownership_problem(step.topic):
        yield "internal", "an internal topic of Kafka must not be deleted"
    if topic is None or step.topic in cluster.torn or step.topic in cluster.deleting:
        yield "untouched", untouchable(rules, step.topic)
    elif foreign_move(rules, step.topic):
        yield "untouched", foreign_move(rules, step.topic)
    if not _says_delete(rules, step.topic, records.topics.get(step.topic)):
        yield "deletion", "its ownership record does not say Delete"
    kept = rules.held_back(step.topic) or rules.is_stranded(step.topic)
    if step.topic in rules.specs or kept:
        yield "deletion", "a Topic declares it"
    if topic and topic.is_another(step.topic_id):
        yield "deletion", f"its topic id is {topic.identity}, not {step.topic_id}"


def _says_delete(rules: Rules, topic: str, record: TopicRecord | None) -> bool:
    """Whether the recorded owner of the topic wants it deleted."""
    if record is None or rules.owner_of(topic) is None:
        return False
    doomed = Claim(topic, record.owner) in rules.desired.doomed
    return doomed or record.deletion_policy is DeletionPolicy.DELETE


def _wrong_log_dir(rules: Rules, step: MoveLogDir) -> Wrong:
    reason = untouchable(rules, step.topic) or foreign_move(rules, step.topic)
    if reason:
        yield "untouched", reason
        return
    partition = rules.cluster.topics[step.topic].partition(step.partition)
    broker = rules.cluster.brokers.get(step.broker)
    if partition is None or step.broker not in partition.replicas:
        yield "logDir", f"broker {step.broker} holds no replica of partition {step.partition}"
    if broker is None:
        yield "logDir", f"broker {step.broker} is not live"
    elif broker.log_dirs is not None and step.target not in broker.log_dirs:
        yield "logDir", f"broker {step.broker} has no log directory {step.target}"
    if step.source == step.target:
        yield "logDir", f"it is in {step.target} already"
