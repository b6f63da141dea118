"""The steps of a fleet by name, and the tables that each of them writes."""

from collections.abc import Mapping

from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.schemas import TableSchema

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
        schemas.SNAPSHOT_STATES,
        schemas.MISSING,
        schemas.POOL_FORECASTS,
        schemas.BROKER_FORECASTS,
        schemas.HOTTEST,
        schemas.SKEWS,
        schemas.DIFFERENCES,
    ),
}
"""The tables that each step writes."""

STEP_OF: Mapping[str, str] = {
    table.name: step for step, tables in TABLES_OF.items() for table in tables
}
"""By name of a table, the step that writes it."""
