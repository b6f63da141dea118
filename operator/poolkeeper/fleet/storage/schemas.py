"""The tables of a fleet: one description of each, from which both Arrow's and Spark's schema come.

Versions: a reader takes any run whose table has its own version. Columns may be added, nullable,
at the end, without a new version: older files read as null there, older readers do not look. A
column that changes its meaning or type, or goes, makes a new version, and runs of other versions
are refused by number. The versions of a run's tables are in the step's `current` table;
`tests/golden/fleet/schemas.json` holds all tables as they were released.
"""

from poolkeeper.fleet.storage.report_schemas import (
    BROKER_FORECASTS,
    DIFFERENCES,
    HOTTEST,
    MISSING,
    POOL_FORECASTS,
    SKEWS,
    SNAPSHOT_STATES,
)
from poolkeeper.fleet.storage.table_schema import (
    BOOL,
    DOUBLE,
    FILES,
    INT,
    INTS,
    LOG_DIRS,
    LONG,
    PATH,
    PLACES,
    TEXT,
    TEXT_MAP,
    TEXTS,
    Column,
    TableSchema,
    nullable,
)

CLUSTERS = TableSchema(
    "clusters",
    1,
    "Snapshots: one row per cluster and day, read or not.",
    (
        Column("status", TEXT, "`ok`, or `failed`: then there is only a reason."),
        nullable("reason", TEXT, "Why it could not be read; or what of it could not be learnt."),
        nullable("id", TEXT, "Kafka's cluster id."),
        nullable("kafka_version", TEXT, "As declared, asked or inferred."),
        nullable("controller", INT, "The controller's broker id."),
        nullable("electing", BOOL, "Whether a preferred election was under way."),
        nullable("reassigning", BOOL, "Whether a reassignment request was there, empty or not."),
        nullable("deleting", TEXTS, "Topics with a deletion marker."),
        nullable("torn", TEXTS, "Topics that changed while they were read."),
        nullable("damaged", TEXT_MAP, "Topics that cannot be decoded, with the reason."),
        nullable("gone", INTS, "Brokers that count as lost for good."),
        nullable("records", TEXT, "What Poolkeeper remembers of the cluster, canonical JSON."),
        nullable("brokers", INT, "How many are live."),
        nullable("topics", INT, "How many there are."),
        nullable("partitions", LONG, "How many there are."),
        Column("read_ms", LONG, "When it was read, in milliseconds since 1970."),
        nullable("traced_version", TEXT, "The releases that may have written the nodes."),
    ),
)

BROKERS = TableSchema(
    "brokers",
    1,
    "Snapshots: the live brokers.",
    (
        Column("broker", INT, "Its id."),
        nullable("rack", TEXT, "As it registers it."),
        Column("endpoints", TEXTS, "As it registers them."),
        nullable("config", TEXT_MAP, "Its dynamic config."),
        nullable("log_dirs", LOG_DIRS, "Its log directories."),
        nullable("release", TEXT, "The release that it reports itself."),
        nullable("min_insync", INT, "Its min.insync.replicas, where it was asked."),
    ),
)

TOPICS = TableSchema(
    "topics",
    1,
    "Snapshots: the topics, in the order of their names; partitions are rows of `partitions`.",
    (
        Column("topic", TEXT, "Its name."),
        nullable("topic_id", TEXT, "Kafka's id of it."),
        nullable("config", TEXT_MAP, "Its config; null where it was not read."),
        Column("partitions", INT, "How many rows of `partitions` are its."),
    ),
)

PARTITIONS = TableSchema(
    "partitions",
    1,
    "Snapshots: the partitions, by topic and number.",
    (
        Column("topic", TEXT, "The topic's name."),
        nullable("topic_id", TEXT, "The topic's id."),
        Column("partition", INT, "Its number."),
        Column("replicas", INTS, "Broker ids in assignment order, those being added included."),
        Column("adding", INTS, "Of those, the ones being added."),
        Column("removing", INTS, "Of those, the ones being removed."),
        nullable("leader", INT, "-1: there is none."),
        nullable("isr", INTS, "Broker ids in sync."),
        nullable("bytes", LONG, "Size of one replica, the largest known."),
        nullable("bytes_in_per_s", DOUBLE, "What is written to it."),
        nullable("log_dirs", PLACES, "Log directory by broker id."),
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
        nullable("value", DOUBLE, "The figure; null and NaN are as good as no sample."),
    ),
)

FEATURES = TableSchema(
    "features",
    1,
    "Load of a partition over a window that ends with the day.",
    (
        Column("topic", TEXT, "The topic's name."),
        Column("partition", INT, "The partition's number; -1: a figure of the whole topic."),
        Column("metric", TEXT, "As in `samples`."),
        Column("window_s", LONG, "Length of the window."),
        Column("buckets", INT, "Steps of the window that have a sample."),
        Column("coverage", DOUBLE, "The same as a part of all steps, 0 to 1."),
        nullable("p50", DOUBLE, "Median over buckets; null below the coverage asked for."),
        nullable("p95", DOUBLE, "95th percentile, likewise."),
        nullable("max", DOUBLE, "Largest, likewise."),
        Column("last", DOUBLE, "The latest figure in the window."),
        nullable("growth_per_day", DOUBLE, "What it gains a day: its last third less its first."),
    ),
)

BROKER_FEATURES = TableSchema(
    "broker_features",
    1,
    "How full brokers are and when they will be, from the sizes of their replicas.",
    (
        Column("broker", INT, "Its id."),
        Column("bytes", LONG, "What its replicas hold."),
        nullable("capacity_bytes", LONG, "Declared, else what its log directories can hold."),
        nullable("growth_bytes_per_day", DOUBLE, "Over replicas; none loses all within 90 days."),
        nullable("days_to_full", DOUBLE, "0: full now; null: unknown or never at this growth."),
    ),
)

PLANS = TableSchema(
    "plans",
    1,
    "One row per cluster: its plan, or why there is none.",
    (
        Column("status", TEXT, "`ok`, or `failed`: then only `reason` says more."),
        nullable("reason", TEXT, "Why there is no plan."),
        nullable("hash", TEXT, "The plan's hash, which people approve."),
        nullable("fingerprint", TEXT, "What it was made from."),
        nullable("partitions", LONG, "Partitions of the cluster."),
        nullable("moves", LONG, "Rows of `moves`."),
        nullable("steps", LONG, "Rows of `steps`."),
        nullable("problems", LONG, "Rows of `problems`."),
        nullable("bytes", LONG, "Bytes of all moves."),
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
        nullable("topic_id", TEXT, "The topic's id."),
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
        nullable("reason", TEXT, "Its kind, as in `plan.json`; null: not told."),
    ),
)

BALANCES = TableSchema(
    "balances",
    1,
    "Brokers before a plan and after it.",
    (
        Column("pool", TEXT, "The pool it is in; empty: in none."),
        Column("broker", INT, "Its id."),
        nullable("rack", TEXT, "As it registers it, or as its pool says."),
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
        nullable("reason", TEXT, "Why it failed; or what of it could not be learnt."),
        Column("figures", TEXT_MAP, "What is told of it: partitions, samples, moves, hash."),
        Column("versions", TEXT_MAP, "Version of each table."),
        Column("files", FILES, "The files that hold its rows, below the root, with their sizes."),
        nullable("later_failure", TEXT, "Why a later run could not make its rows anew."),
    ),
    by=("step", "day"),
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
