"""The live page of a cluster's plan: the one carried out, the one that waits, or the one made now.

Nothing is approved on a page: it shows the lines that do it. Pure.
"""

import shlex
from dataclasses import replace
from enum import Enum

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import AddPartitions, CreateTopic, Plan, Step
from poolkeeper.model.topology import Cluster
from poolkeeper.report import plan_report, pools_report
from poolkeeper.report.document import Cell, CellKind, Report, Row, Section


class PlanState(Enum):
    """Where the plan of a page comes from."""

    UNDER_WAY = "under way"
    """It is the plan of the recorded run."""
    WAITS = "waits"
    """An operator waits for its approval."""
    MADE_NOW = "made now"
    """It was made of the manifests and the cluster, as `poolkeeper plan` does."""
    UNKNOWN = "unknown"
    """There are no manifests, and no plan is stored."""


@frozen
class PlanSeen:
    """A plan, and what it was made from.

    `words`: the options that name the manifests. `records`: which Topic each Kafka topic follows,
    and the racks of brokers that are gone.
    """

    state: PlanState
    plan: Plan
    desired: Desired
    cluster: Cluster
    words: tuple[str, ...] = ()
    records: Records = NOTHING_RECORDED


def report(seen: PlanSeen) -> Report:
    """The page of the plan."""
    if seen.state is PlanState.UNKNOWN:
        lead = "No run is recorded and no plan waits. With manifests (-f DIR) a plan is made here."
        return Report(f"Plan for cluster {seen.plan.cluster}", lead)
    return plan_report.page_document(
        _left(seen),
        seen.desired,
        seen.cluster,
        _first(seen),
        records=seen.records,
        stored=seen.state is not PlanState.MADE_NOW,
    )


def pools(seen: PlanSeen) -> Report:
    """The page of brokers and pools, before and after that plan."""
    return pools_report.document(_left(seen), seen.desired, seen.cluster, seen.records)


def _left(seen: PlanSeen) -> Plan:
    """The plan without what it has created: the cluster has that already, and it counts once."""
    topics = seen.cluster.topics

    def is_there(step: Step) -> bool:
        if isinstance(step, CreateTopic):
            return step.topic in topics
        if isinstance(step, AddPartitions) and step.topic in topics:
            return len(topics[step.topic].partitions) > step.first
        return False

    return replace(seen.plan, steps=tuple(each for each in seen.plan.steps if not is_there(each)))


def _first(seen: PlanSeen) -> Section | None:
    if seen.state is PlanState.UNDER_WAY:
        told = (
            "This plan is carried out now; the page of the run tells how far it is."
            " Topics and partitions that it has created are not listed any more."
        )
        return Section("Under way", (told,))
    if seen.plan.empty:
        return None
    name = shlex.quote(seen.plan.cluster)
    operator = f"kubectl poolkeeper approve --cluster {name} --plan {seen.plan.hash}"
    rows: list[Row] = [
        (Cell("where an operator keeps the cluster:"), Cell(operator, CellKind.COMMAND)),
        (
            Cell("where approvals are committed, in the KafkaCluster:"),
            Cell(f'spec: {{approval: {{plans: ["{seen.plan.hash}"]}}}}', CellKind.COMMAND),
        ),
    ]
    if seen.words:
        words = shlex.join(seen.words)
        rows += [
            (Cell(where), Cell(f"poolkeeper {line}", CellKind.COMMAND))
            for where, line in (
                ("by hand, first into a file:", f"plan {words} --out plan.json"),
                ("then with that file:", f"apply {words} --plan plan.json"),
            )
        ]
    waits = "It waits for approval. " if seen.state is PlanState.WAITS else ""
    note = f"{waits}Nothing is approved on this page. These lines do it:"
    return Section("How it is approved", (note,), items=tuple(rows))
