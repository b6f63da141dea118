"""The brokers of a cluster by pool, as they are and as a plan leaves them: a page by itself.

Unlike the page of a plan it shows all pools, those too that a plan leaves as they are.
"""

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.report import balance, changes, sections
from poolkeeper.report.document import Report, Section
from poolkeeper.report.holdings import holdings
from poolkeeper.report.html import pictures
from poolkeeper.text import count, more

PICTURES_MAX = 12
BROKERS_MAX = 500
POOLS_MAX = 200


def document(
    plan: Plan, desired: Desired, cluster: Cluster, records: Records = NOTHING_RECORDED
) -> Report:
    """The page; `cluster` is the one that the plan was made from."""
    held = holdings(plan, desired, cluster, records)
    pools = balance.pools_of(plan.cluster, held)
    first = sorted(pools, key=lambda pool: (-pool.changes, not pool.pool, pool.pool))
    shown = tuple(map(pictures.brokers_picture, first[:PICTURES_MAX]))
    known = count(len([pool for pool in pools if pool.pool]), "pool")
    return Report(
        f"Pools of cluster {plan.cluster}",
        f"{known}, {count(len(held), 'broker')}. {changes.summary(plan)}",
        sections=(
            Section(
                "Balance",
                tables=sections.balances_table(pools, POOLS_MAX, clusters=False),
            ),
            Section(
                "Brokers before and after",
                pictures=shown,
                more=more(len(pools) - PICTURES_MAX, "pool"),
                tables=sections.brokers_table(held, BROKERS_MAX),
                folded="The same in figures",
            ),
        ),
    )
