"""The steps of a fleet by name, and the tables that each of them writes."""

from collections.abc import Mapping

from poolkeeper.fleet.storage import report_schemas, schemas
from poolkeeper.fleet.storage.table_schema import TableSchema

SNAPSHOT, FEATURES, PLAN = "snapshot", "features", "plan"
BUDGET, REPORT = "budget", "report"
TABLES_OF: Mapping[str, tuple[TableSchema, ...]] = {
    SNAPSHOT: (
        schemas.CLUSTERS,
        schemas.BROKERS,
        schemas.TOPICS,
        schemas.PARTITIONS,
        schemas.REQUESTS,
    ),
    FEATURES: (schemas.FEATURES, schemas.BROKER_FEATURES, schemas.SAMPLES),
    PLAN: (
        schemas.PLANS,
        schemas.MOVES,
        schemas.STEPS,
        schemas.CERTIFICATES,
        schemas.PROBLEMS,
        schemas.BALANCES,
        schemas.STAGES,
    ),
    BUDGET: (schemas.BUDGETS, schemas.TURNS, schemas.LEFT_OUT),
    REPORT: (
        report_schemas.SNAPSHOT_STATES,
        report_schemas.MISSING,
        report_schemas.POOL_FORECASTS,
        report_schemas.BROKER_FORECASTS,
        report_schemas.HOTTEST,
        report_schemas.SKEWS,
        report_schemas.DIFFERENCES,
    ),
}
"""The tables that each step writes."""

STEP_OF: Mapping[str, str] = {
    table.name: step for step, tables in TABLES_OF.items() for table in tables
}
"""By name of a table, the step that writes it."""
