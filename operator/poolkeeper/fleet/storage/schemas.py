"""The tables of a fleet: one description of each, from which both Arrow's and Spark's schema come.

A table lies in one folder, partitioned as `by` says (Hive's way: `day=2026-11-21/run=ID/`); those
columns are in the path and not in the files. Rows of clusters have the cluster's name as their
first column in files. It is not among `columns`, as whoever makes or reads the rows of one cluster
knows it. Absent knowledge is null, never zero.

Versions: a reader takes any run whose table has its own version. Columns may be added, nullable,
at the end, without a new version: older files read as null there, older readers do not look. A
column that changes its meaning or type, or goes, makes a new version, and runs of other versions
are refused by number. The versions of a run's tables are in the step's `current` table;
`tests/golden/fleet/schemas.json` holds all tables as they were released.
"""

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen

TEXT, INT, LONG, DOUBLE, BOOL = "string", "int", "bigint", "double", "boolean"
INTS, TEXTS, PATH = "array<int>", "array<string>", "array<array<int>>"
TEXT_MAP, PLACES = "map<string,string>", "map<int,string>"
FILES = "array<struct<table:string,path:string,bytes:bigint>>"
LOG_DIRS = "array<struct<path:string,total_bytes:bigint,usable_bytes:bigint>>"


@frozen
class Column:
    """A column: its type in Spark's DDL, what it holds, and whether it may be null."""

    name: str
    type: str
    doc: str
    nullable: bool = False


CLUSTER = Column("cluster", TEXT, "The cluster's name.")


@frozen
class TableSchema:
    """A table; `by` are the columns that its folders are named after, all strings.

    `of_clusters`: files have the column `cluster` before all others.
    """

    name: str
    version: int
    doc: str
    columns: tuple[Column, ...]
    by: tuple[str, ...] = ("day", "run")
    of_clusters: bool = True

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns of its files."""
        return (CLUSTER, *self.columns) if self.of_clusters else self.columns

    @property
    def ddl(self) -> str:
        """Spark's schema of the whole table, columns of the path first."""
        return ", ".join((*(f"{name} string" for name in self.by), self.ddl_of_files))

    @property
    def ddl_of_files(self) -> str:
        """Spark's schema of the files."""
        return ", ".join(
            f"{each.name} {each.type}{'' if each.nullable else ' NOT NULL'}" for each in self.stored
        )


def _nullable(name: str, type_: str, doc: str) -> Column:
    return Column(name, type_, doc, nullable=True)


CLUSTERS = TableSchema(
    "clusters",
    1,
    "Snapshots: one row per cluster and day, read or not.",
    (
        Column("status", TEXT, "`ok`, or `failed`: then there is only a reason."),
        _nullable("reason", TEXT, "Why it could not be read; or what of it could not be learnt."),
        _nullable("id", TEXT, "Kafka's cluster id."),
        _nullable("kafka_version", TEXT, "As declared, asked or inferred."),
        _nullable("controller", INT, "The controller's broker id."),
        _nullable("electing", BOOL, "Whether a preferred election was under way."),
        _nullable("reassigning", BOOL, "Whether a reassignment request was there, empty or not."),
        _nullable("deleting", TEXTS, "Topics with a deletion marker."),
        _nullable("torn", TEXTS, "Topics that changed while they were read."),
        _nullable("damaged", TEXT_MAP, "Topics that cannot be decoded, with the reason."),
        _nullable("gone", INTS, "Brokers that count as lost for good."),
        _nullable("records", TEXT, "What Poolkeeper remembers of the cluster, canonical JSON."),
        _nullable("brokers", INT, "How many are live."),
        _nullable("topics", INT, "How many there are."),
        _nullable("partitions", LONG, "How many there are."),
        Column("read_ms", LONG, "When it was read, in milliseconds since 1970."),
        _nullable("traced_version", TEXT, "The releases that may have written the nodes."),
    ),
)

BROKERS = TableSchema(
    "brokers",
    1,
    "Snapshots: the live brokers.",
    (
        Column("broker", INT, "Its id."),
        _nullable("rack", TEXT, "As it registers it."),
        Column("endpoints", TEXTS, "As it registers them."),
        _nullable("config", TEXT_MAP, "Its dynamic config."),
        _nullable("log_dirs", LOG_DIRS, "Its log directories."),
        _nullable("release", TEXT, "The release that it reports itself."),
    ),
)

TOPICS = TableSchema(
    "topics",
    1,
    "Snapshots: the topics, in the order of their names; partitions are rows of `partitions`.",
    (
        Column("topic", TEXT, "Its name."),
        _nullable("topic_id", TEXT, "Kafka's id of it."),
        _nullable("config", TEXT_MAP, "Its config; null where it was not read."),
        Column("partitions", INT, "How many rows of `partitions` are its."),
    ),
)

PARTITIONS = TableSchema(
    "partitions",
    1,
    "Snapshots: the partitions, by topic and number.",
    (
        Column("topic", TEXT, "The topic's name."),
        _nullable("topic_id", TEXT, "The topic's id."),
        Column("partition", INT, "Its number."),
        Column("replicas", INTS, "Broker ids in assignment order, those being added included."),
        Column("adding", INTS, "Of those, the ones being added."),
        Column("removing", INTS, "Of those, the ones being removed."),
        _nullable("leader", INT, "-1: there is none."),
        _nullable("isr", INTS, "Broker ids in sync."),
        _nullable("bytes", LONG, "Size of one replica, the largest known."),
        _nullable("bytes_in_per_s", DOUBLE, "What is written to it."),
        _nullable("log_dirs", PLACES, "Log directory by broker id."),
    ),
)

REQUESTS = TableSchema(
    "requests",
    1,
    "Snapshots: entries of the reassignment request that was there.",
    (
        Column("topic", TEXT, "The topic's name."),
        Column("partition", INT, "The partition's number."),
        Column("replicas", INTS, "Where it shall live."),
    ),
)

MANIFESTS = TableSchema(
    "manifests",
    1,
    "What is declared, one row per cluster.",
    (
        Column("published", LONG, "When it was put; of the largest are the rows that count."),
        Column("desired", TEXT, "All specs of the cluster, canonical JSON (`codecs`)."),
        Column("digest", TEXT, "`sha256:` of `desired`."),
    ),
    by=(),
)

SAMPLES = TableSchema(
    "samples",
    1,
    "Load history as it came: any order, late and twice as well.",
    (
        Column("topic", TEXT, "The topic's name."),
        Column("partition", INT, "The partition's number; -1: a figure of the whole topic."),
        Column("metric", TEXT, "`bytes`: size of a replica; `bytes_in_per_s`."),
        Column("at_ms", LONG, "When it was true, in milliseconds since 1970."),
        _nullable("value", DOUBLE, "The figure; null and NaN are as good as no sample."),
    ),
)

FEATURES = TableSchema(
    "features",
    1,
    "Load of a partition over a window that ends with the day.",
    (
        Column("topic", TEXT, "The topic's name."),
        Column("partition", INT, "The partition's number."),
        Column("metric", TEXT, "As in `samples`."),
        Column("window_s", LONG, "Length of the window."),
        Column("buckets", INT, "Steps of the window that have a sample."),
        Column("coverage", DOUBLE, "The same as a part of all steps, 0 to 1."),
        _nullable("p50", DOUBLE, "Median over buckets; null below the coverage asked for."),
        _nullable("p95", DOUBLE, "95th percentile, likewise."),
        _nullable("max", DOUBLE, "Largest, likewise."),
        Column("last", DOUBLE, "The latest figure in the window."),
        _nullable("growth_per_day", DOUBLE, "Slope of a robust line through the buckets."),
    ),
)

BROKER_FEATURES = TableSchema(
    "broker_features",
    1,
    "How full brokers are and when they will be, from the sizes of their replicas.",
    (
        Column("broker", INT, "Its id."),
        Column("bytes", LONG, "What its replicas hold."),
        _nullable("capacity_bytes", LONG, "Declared, else the sum of its log directories."),
        _nullable("growth_bytes_per_day", DOUBLE, "Sum over its replicas."),
        _nullable("days_to_full", DOUBLE, "0: full now; null: unknown or never at this growth."),
    ),
)

PLANS = TableSchema(
    "plans",
    1,
    "One row per cluster: its plan, or why there is none.",
    (
        Column("status", TEXT, "`ok`, or `failed`: then only `reason` says more."),
        _nullable("reason", TEXT, "Why there is no plan."),
        _nullable("hash", TEXT, "The plan's hash, which people approve."),
        _nullable("fingerprint", TEXT, "What it was made from."),
        _nullable("partitions", LONG, "Partitions of the cluster."),
        _nullable("moves", LONG, "Rows of `moves`."),
        _nullable("steps", LONG, "Rows of `pipeline`."),
        _nullable("problems", LONG, "Rows of `problems`."),
        _nullable("bytes", LONG, "Bytes of all moves."),
    ),
)

MOVES = TableSchema(
    "moves",
    1,
    "The moves of plans, in their order.",
    (
        Column("index", INT, "Place in the plan, from 0."),
        Column("pool", TEXT, "The pool that the partition shall live in; empty: in none."),
        Column("topic", TEXT, "The topic's name."),
        _nullable("topic_id", TEXT, "The topic's id."),
        Column("partition", INT, "The partition's number."),
        Column("path", PATH, "Replica lists, from the first to the last."),
        Column("bytes", LONG, "Size times replicas added."),
        Column("reason", TEXT, "Why it moves."),
        Column("urgency", INT, "0 heal, 1 drain, 2 pool migration, 3 replication, 4 balance."),
    ),
)

STEPS = TableSchema(
    "steps",
    1,
    "The steps of plans that move no data, in their order.",
    (
        Column("index", INT, "Place in the plan, from 0."),
        Column("kind", TEXT, "`CreateTopic`, `AddPartitions`, `SetConfig`, …"),
        Column("topic", TEXT, "The topic's name; empty for elections."),
        Column("destructive", BOOL, "Whether a person must agree."),
        Column("body", TEXT, "The step as in `plan.json`, canonical JSON."),
    ),
)

CERTIFICATES = TableSchema(
    "certificates",
    1,
    "How close plans are to the cheapest possible, by pool.",
    (
        Column("pool", TEXT, "The pool's name."),
        Column("replica_moves", LONG, "Replicas added."),
        Column("replica_moves_lower_bound", LONG, "No plan adds fewer."),
        Column("bytes", LONG, "Bytes added."),
        Column("bytes_lower_bound", LONG, "No plan adds fewer."),
        Column("gap_percent", DOUBLE, "Cost above its bound."),
        Column("witness", TEXT, "What the bound comes from."),
    ),
)

PROBLEMS = TableSchema(
    "problems",
    1,
    "What plans will not do or cannot mend.",
    (
        Column("pool", TEXT, "The pool's name; empty: the whole cluster."),
        Column("law", TEXT, "The law concerned; empty: none."),
        Column("topic", TEXT, "The topic concerned; empty: none."),
        Column("message", TEXT, "What and why."),
    ),
)

BALANCES = TableSchema(
    "balances",
    1,
    "Brokers before a plan and after it.",
    (
        Column("pool", TEXT, "The pool it is in; empty: in none."),
        Column("broker", INT, "Its id."),
        _nullable("rack", TEXT, "As it registers it, or as its pool says."),
        Column("live", BOOL, "Whether it is registered."),
        Column("weight", DOUBLE, "Its weight in the pool; 0: drained, dead or in no pool."),
        Column("replicas_before", LONG, "Replicas it holds."),
        Column("replicas_after", LONG, "Replicas it will hold, created and added ones too."),
        Column("leaders_before", LONG, "Partitions whose first replica it is."),
        Column("leaders_after", LONG, "Likewise after the plan."),
        Column("bytes_before", LONG, "Bytes it holds; unknown sizes as the planner takes them."),
        Column("bytes_after", LONG, "Likewise after the plan."),
    ),
)

STAGES = TableSchema(
    "stages",
    1,
    "Plans as work for the budget: their moves cut into stages, in their order.",
    (
        Column("index", INT, "Place in the cluster's work, from 0."),
        Column("bytes", LONG, "What it copies."),
        Column("least_ms", LONG, "How long it takes where no budget limits it."),
        Column("urgency", INT, "As in `moves`."),
        Column("gain", DOUBLE, "Imbalance that it removes, in replicas."),
    ),
)

BUDGETS = TableSchema(
    "budgets",
    1,
    "One row per day: what the schedule of all clusters comes to.",
    (
        Column("begin_ms", LONG, "When it begins, in milliseconds since 1970."),
        Column("makespan_ms", LONG, "How long it takes."),
        Column("bound_ms", LONG, "No schedule is shorter."),
        Column("bound_cause", TEXT, "What the bound comes from."),
        Column("budget", TEXT, "What all clusters together may use, in words."),
    ),
    of_clusters=False,
)

TURNS = TableSchema(
    "turns",
    1,
    "Who moves when: stages of a cluster without a pause, in the order of their begin.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("site", TEXT, "Where it is; empty: not said."),
        Column("urgency", INT, "As in `moves`."),
        Column("first_stage", INT, "Place of its first stage in the cluster's work, from 0."),
        Column("stages", INT, "How many."),
        Column("bytes", LONG, "What they copy."),
        Column("begin_ms", LONG, "From the schedule's begin."),
        Column("end_ms", LONG, "From the schedule's begin."),
        Column("lane", INT, "The lowest number that no other turn has at that time, from 0."),
        Column("wave", INT, "How many turns its lane had until then, itself included."),
    ),
    of_clusters=False,
)

LEFT_OUT = TableSchema(
    "left_out",
    1,
    "Stages that no time was found for.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("first_stage", INT, "From this stage to its last."),
        Column("stages", INT, "How many."),
        Column("bytes", LONG, "What they would copy."),
        Column("reason", TEXT, "Why."),
    ),
    of_clusters=False,
)

CURRENT = TableSchema(
    "current",
    1,
    "What counts of a step and a day: one row per cluster. The rows with the largest `published`.",
    (
        Column("published", LONG, "When it was published, in milliseconds since 1970."),
        Column("run", TEXT, "The run that made its rows: `run` in the tables."),
        Column("input", TEXT, "`sha256:` of what they were made from; empty: make them again."),
        Column("status", TEXT, "`ok` or `failed`."),
        _nullable("reason", TEXT, "Why it failed; or what of it could not be learnt."),
        Column("figures", TEXT_MAP, "What is told of it: partitions, samples, moves, hash."),
        Column("versions", TEXT_MAP, "Version of each table."),
        Column("files", FILES, "The files that hold its rows, below the root, with their sizes."),
    ),
    by=("step", "day"),
)

SNAPSHOT_STATES = TableSchema(
    "snapshot_states",
    1,
    "Reports: how old and complete every cluster's snapshot is; declared ones without one too.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("site", TEXT, "Where it is; empty: not said."),
        _nullable("read_ms", LONG, "When it was read, in milliseconds since 1970; null: never."),
        _nullable("age_s", DOUBLE, "How long that was ago when the report was made."),
        Column("brokers", INT, "How many are live."),
        Column("topics", INT, "How many there are."),
        Column("partitions", LONG, "How many there are."),
        Column("unknown_sizes", LONG, "Of those, whose size nothing knows."),
        Column("torn", INT, "Topics that changed while they were read."),
        Column("damaged", INT, "Topics that cannot be decoded."),
        Column("remark", TEXT, "What could not be learnt, or why there is no snapshot."),
    ),
    of_clusters=False,
)

MISSING = TableSchema(
    "missing",
    1,
    "Reports: what that day should have and does not.",
    (
        Column("cluster", TEXT, "The cluster's name; empty: the whole day."),
        Column("gap", TEXT, "`NoSnapshot`, `NotRead`, `NoFeatures`, `NoPlan`, `NotPlanned`, …"),
        Column("message", TEXT, "What that is, and what to do."),
    ),
    of_clusters=False,
)

POOL_FORECASTS = TableSchema(
    "pool_forecasts",
    1,
    "Reports: how full pools are, when they will be, and the brokers they need until a day.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("pool", TEXT, "The pool's name."),
        Column("brokers", INT, "How many take replicas."),
        Column("bytes", LONG, "What all of its brokers hold, as far as sizes are known."),
        _nullable("capacity_bytes", LONG, "Of the brokers that take replicas."),
        _nullable("limit_bytes", LONG, "What they hold after the failures of the headroom."),
        _nullable("growth_bytes_per_day", DOUBLE, "As far as it is known."),
        Column("sizes_known", DOUBLE, "The part of the replicas whose size is known, 0 to 1."),
        Column("growth_known", DOUBLE, "The part of the bytes whose growth is known, 0 to 1."),
        _nullable("days_to_full", DOUBLE, "0: full now; null: unknown or never at this growth."),
        _nullable("days_to_limit", DOUBLE, "Likewise for the limit."),
        _nullable("first_broker_days", DOUBLE, "Likewise for its first broker."),
        Column("horizon_days", DOUBLE, "How far ahead the next column looks."),
        _nullable("brokers_to_add", INT, "To stay below its limit; null: unknown, or no number."),
    ),
    of_clusters=False,
)

BROKER_FORECASTS = TableSchema(
    "broker_forecasts",
    1,
    "Reports: what brokers hold, and when they are full.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("pool", TEXT, "The pool it is in; empty: in none."),
        Column("broker", INT, "Its id."),
        _nullable("rack", TEXT, "As it registers it, or as its pool says."),
        Column("weight", DOUBLE, "Its weight in the pool; 0: drained, dead or in no pool."),
        Column("replicas", LONG, "Replicas it holds."),
        Column("leaders", LONG, "Partitions whose first replica it is."),
        Column("bytes", LONG, "What it holds, as far as sizes are known."),
        _nullable("capacity_bytes", LONG, "Declared, else the sum of its log directories."),
        _nullable("growth_bytes_per_day", DOUBLE, "As far as it is known."),
        Column("sizes_known", DOUBLE, "The part of the replicas whose size is known, 0 to 1."),
        Column("growth_known", DOUBLE, "The part of the bytes whose growth is known, 0 to 1."),
        _nullable("days_to_full", DOUBLE, "0: full now; null: unknown or never at this growth."),
        _nullable("bytes_in_per_s", DOUBLE, "What is written to its replicas."),
    ),
    of_clusters=False,
)

HOTTEST = TableSchema(
    "hottest",
    1,
    "Reports: the first partitions and topics of each cluster.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("pool", TEXT, "The pool of its first replica; empty: in none."),
        Column("metric", TEXT, "`bytes_in_per_s`, or `bytes` of one replica."),
        Column("topic", TEXT, "The topic's name."),
        Column("partition", INT, "The partition's number; -1: the whole topic."),
        Column("value", DOUBLE, "The figure."),
    ),
    of_clusters=False,
)

SKEWS = TableSchema(
    "skews",
    1,
    "Reports: by pool and measure the broker that is furthest above its share.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("pool", TEXT, "The pool's name."),
        Column("metric", TEXT, "`replicas`, `leaders`, `bytes`, `bytes_in_per_s`."),
        Column("broker", INT, "The broker's id."),
        Column("held", DOUBLE, "What it has."),
        Column("share", DOUBLE, "What it would have by weight."),
        Column("ratio", DOUBLE, "The one over the other."),
    ),
    of_clusters=False,
)

DIFFERENCES = TableSchema(
    "differences",
    1,
    "Reports: the clusters that differ from the last earlier day with a snapshot.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("since", TEXT, "That day."),
        Column("presence", TEXT, "`came`, `went`, `stayed`."),
        _nullable("partitions_before", LONG, "0: it was not there; null: it was not read."),
        _nullable("partitions", LONG, "Likewise now."),
        _nullable("bytes_before", LONG, "What all replicas held; null: it had no plan."),
        _nullable("bytes", LONG, "Likewise now."),
        _nullable("moves_before", LONG, "Of its plan; null: it had none."),
        _nullable("moves", LONG, "Likewise now."),
        _nullable("move_bytes_before", LONG, "What those moves copied."),
        _nullable("move_bytes", LONG, "Likewise now."),
        _nullable("imbalance_before", DOUBLE, "The part of the replicas off their share, 0 to 1."),
        _nullable("imbalance", DOUBLE, "Likewise now."),
        Column("problems_new", INT, "Problems of the plan that it did not have then."),
        Column("problems_solved", INT, "And those that are gone."),
    ),
    of_clusters=False,
)

TABLES = {
    table.name: table
    for table in (
        CLUSTERS, BROKERS, TOPICS, PARTITIONS, REQUESTS, MANIFESTS, SAMPLES, FEATURES,
        BROKER_FEATURES, PLANS, MOVES, STEPS, CERTIFICATES, PROBLEMS, BALANCES, STAGES,
        BUDGETS, TURNS, LEFT_OUT, CURRENT, SNAPSHOT_STATES, MISSING, POOL_FORECASTS,
        BROKER_FORECASTS, HOTTEST, SKEWS, DIFFERENCES,
    )
}  # fmt: skip
"""All tables of this room by name."""

OK, FAILED = "ok", "failed"
"""Statuses of a cluster in a step."""


def check_version(table: TableSchema, found: str | None, file: str) -> None:
    """Raise `Refused` for a file of another version, or of none."""
    if found != str(table.version):
        said = "no version" if found is None else f"version {found}"
        raise Refused(
            f"{file}: table {table.name} has {said} (expected version {table.version}):"
            " make it again with this release"
        )
