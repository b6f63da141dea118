"""The tables of a fleet's report: what a day lacks, forecasts, what is hot, what changed."""

from poolkeeper.fleet.storage.table_schema import (
    DOUBLE,
    INT,
    LONG,
    TEXT,
    Column,
    TableSchema,
    nullable,
)

SNAPSHOT_STATES = TableSchema(
    "snapshot_states",
    1,
    "Reports: how old and complete every cluster's snapshot is; declared ones without one too.",
    (
        Column("cluster", TEXT, "The cluster's name."),
        Column("site", TEXT, "Where it is; empty: not said."),
        nullable("read_ms", LONG, "When it was read, in milliseconds since 1970; null: never."),
        nullable("age_s", DOUBLE, "How long that was ago when the report was made."),
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
        nullable("capacity_bytes", LONG, "Of the brokers that take replicas."),
        nullable("limit_bytes", LONG, "What they hold after the failures of the headroom."),
        nullable("growth_bytes_per_day", DOUBLE, "As far as it is known."),
        Column("sizes_known", DOUBLE, "The part of the replicas whose size is known, 0 to 1."),
        Column("growth_known", DOUBLE, "The part of the bytes whose growth is known, 0 to 1."),
        nullable("days_to_full", DOUBLE, "0: full now; null: unknown or never at this growth."),
        nullable("days_to_limit", DOUBLE, "Likewise for the limit."),
        nullable("first_broker_days", DOUBLE, "Likewise for its first broker."),
        Column("horizon_days", DOUBLE, "How far ahead the next column looks."),
        nullable("brokers_to_add", INT, "To stay below its limit; null: unknown, or no number."),
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
        nullable("rack", TEXT, "As it registers it, or as its pool says."),
        Column("weight", DOUBLE, "Its weight in the pool; 0: drained, dead or in no pool."),
        Column("replicas", LONG, "Replicas it holds."),
        Column("leaders", LONG, "Partitions whose first replica it is."),
        Column("bytes", LONG, "What it holds, as far as sizes are known."),
        nullable("capacity_bytes", LONG, "Declared, else what its log directories can hold."),
        nullable("growth_bytes_per_day", DOUBLE, "As far as it is known."),
        Column("sizes_known", DOUBLE, "The part of the replicas whose size is known, 0 to 1."),
        Column("growth_known", DOUBLE, "The part of the bytes whose growth is known, 0 to 1."),
        nullable("days_to_full", DOUBLE, "0: full now; null: unknown or never at this growth."),
        nullable("bytes_in_per_s", DOUBLE, "What is written to its replicas."),
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
        nullable("partitions_before", LONG, "0: it was not there; null: it was not read."),
        nullable("partitions", LONG, "Likewise now."),
        nullable("bytes_before", LONG, "What all replicas held; null: it had no plan."),
        nullable("bytes", LONG, "Likewise now."),
        nullable("moves_before", LONG, "Of its plan; null: it had none."),
        nullable("moves", LONG, "Likewise now."),
        nullable("move_bytes_before", LONG, "What those moves copied."),
        nullable("move_bytes", LONG, "Likewise now."),
        nullable("imbalance_before", DOUBLE, "The part of the replicas off their share, 0 to 1."),
        nullable("imbalance", DOUBLE, "Likewise now."),
        Column("problems_new", INT, "Problems of the plan that it did not have then."),
        Column("problems_solved", INT, "And those that are gone."),
    ),
    of_clusters=False,
)
