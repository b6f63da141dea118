"""A plan on standard output: as text, JSON, Kafka's own files, or a page.

The forms are made in `cli.output.plans.plan_text`, `planning.proposals.plan_json` (JSON and Kafka's
`reassign-json`) and `report.plan_report` (pages).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from poolkeeper import wording
from poolkeeper.cli.output import ink, left_undone, printing
from poolkeeper.cli.output.plans import brokers_table, capacity_table, plan_text
from poolkeeper.frozen import frozen
from poolkeeper.jsontext import compact
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.diagnosis.remaining_capacity import (
    RemainingCapacity,
    remaining_capacities,
)
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.report import changes
from poolkeeper.report.changes import UnknownSizes
from poolkeeper.text import count, listed, moment

if TYPE_CHECKING:
    from poolkeeper.rehearsal.values import Rehearsal
    from poolkeeper.report.document import Section
    from poolkeeper.studies.planned_groups import PlannedGroup

REASSIGN_JSON = "reassign-json"
HTML = "html"
PAGES = (HTML, "markdown")
_UNDONE_MAX = 20


@frozen
class Beside:
    """What is shown beside a plan.

    `balance_waits_until_ms`: until then a loop leaves out what is for balance alone. `waits`: what
    blocks every move now; it comes first, with throttles that no run accounts for. `foretold`: the
    rehearsal of the plan, and that of its worst single fault. `groups`: consumer groups, before and
    after. `capacities`: what the pools have left after the plan, if that is known yet.
    """

    balance_waits_until_ms: int | None = None
    waits: Sequence[Wait] = ()
    foretold: "tuple[Rehearsal, Rehearsal | None] | None" = None
    groups: "Sequence[PlannedGroup]" = ()
    capacities: tuple[RemainingCapacity, ...] | None = None

    def capacities_after(
        self, plan: Plan, desired: Desired, observed: Observation
    ) -> tuple[RemainingCapacity, ...]:
        """What the pools have left after the plan."""
        if self.capacities is not None:
            return self.capacities
        return remaining_capacities(
            plan, desired, observed.cluster, observed.gone, observed.records
        )


NOTHING_BESIDE = Beside()


def document(
    plan: Plan, desired: Desired, observed: Observation, beside: Beside = NOTHING_BESIDE
) -> dict[str, object]:
    """The plan as JSON values, with the remaining capacity of the pools after it."""
    waits, balance_waits_until_ms = beside.waits, beside.balance_waits_until_ms
    left = beside.capacities_after(plan, desired, observed)
    body = plan_json.to_json(plan)
    body.setdefault("parts", [])
    body["room"] = [capacity_table.as_data(room) for room in left]
    if loads := brokers_table.leader_loads_data(plan, observed.cluster):
        body["leaderLoads"] = loads
    sizes = UnknownSizes.of(plan, observed.cluster)
    if sizes.unknown:
        body["movesOfUnknownSize"] = sizes.unknown
    as_declared = plan.empty and not left_undone.of_plan(plan) and not waits
    body["asDeclared"] = as_declared and not has_more_to_do(observed) and not damage(observed)
    body["blocked"] = left_undone.as_data(left_undone.of_waits(waits))
    if lost := observed.orphans.found:
        body["orphanedMoves"] = [str(each.partition) for each in lost]
    if throttled := left_throttles.waits(observed.left):
        from poolkeeper.cli.output.runs import status_text

        body["throttlesLeft"] = status_text.throttles_data(throttled)
    if balance_waits_until_ms is not None:
        body["balanceWaitsUntil"] = moment(balance_waits_until_ms)
    return body


def has_more_to_do(seen: Observation) -> bool:
    """Whether `apply` has something to do beside the plan."""
    return bool(seen.left.ours or seen.orphans.due() or seen.lost_run.in_flight)


def damage(seen: Observation) -> tuple[left_undone.Undone, ...]:
    """What is wrong with the cluster and left to a person."""
    return left_undone.of_damage(left_throttles.waits(seen.left))


def show(
    plan: Plan,
    desired: Desired,
    observed: Observation,
    output: str,
    beside: Beside = NOTHING_BESIDE,
) -> None:
    """Write a plan to standard output, with the remaining capacity of the pools after it."""
    unowned = (*observed.orphans.waits(), *left_throttles.waits(observed.left))
    notes = wording.sentences(unowned)
    if output in (REASSIGN_JSON, *PAGES):
        printing.warn(notes)
    if output == REASSIGN_JSON:
        printing.warn((*wording.sentences(beside.waits), *_in_no_file(plan)))
    if output == printing.JSON:
        _emit_document(plan, desired, observed, beside)
    elif output == REASSIGN_JSON:
        for file in plan_json.reassign_json(plan):
            printing.emit(compact(file))
    elif output in PAGES:
        _emit_page(plan, desired, observed, beside, output)
    else:
        _emit_text(plan, desired, observed, beside, notes)


def _in_no_file(plan: Plan) -> Iterator[str]:
    """Say what Kafka's files do not hold: other steps, and what is not done, and why."""
    if steps := changes.step_counts(plan.steps):
        yield f"in no file, as it is no reassignment: {listed(steps)}"
    yield from _moves_in_no_file(plan)
    told = ProblemReason.NO_STAGE.value
    undone = [each for each in left_undone.of_plan(plan) if each.reason != told]
    yield from map(left_undone.sentence, undone[:_UNDONE_MAX])
    if len(undone) > _UNDONE_MAX:
        rest = count(len(undone) - _UNDONE_MAX, "thing")
        yield f"{rest} more left undone; --output json shows all"


def _moves_in_no_file(plan: Plan) -> Iterator[str]:
    """Say how many moves Kafka's files do not hold, as the stages stop before, and why."""
    done = {(index, step) for stage in plan.stages for index, step in stage.moves}
    left = sum((index, len(move.path) - 1) not in done for index, move in enumerate(plan.moves))
    for problem in plan.problems:
        if problem.reason is ProblemReason.NO_STAGE:
            moves = f"{left} of {count(len(plan.moves), 'move', grouped=False)}"
            yield f"{moves} {'is' if left == 1 else 'are'} in no file: {problem.message}"


def _emit_document(plan: Plan, desired: Desired, observed: Observation, beside: Beside) -> None:
    body = document(plan, desired, observed, beside)
    if beside.foretold is not None:
        from poolkeeper.rehearsal.results import document as rehearsal_document

        body["rehearsal"] = rehearsal_document.foretelling(*beside.foretold)
    if beside.groups:
        from poolkeeper.cli.output.plans import groups_table

        body["groups"] = groups_table.as_data(beside.groups)
    printing.emit_json(body)


def _emit_page(
    plan: Plan, desired: Desired, observed: Observation, beside: Beside, output: str
) -> None:
    from poolkeeper.report import plan_report

    section = None if beside.foretold is None else _section(*beside.foretold)
    write = plan_report.plan_page if output == HTML else plan_report.plan_markdown
    cluster, records = observed.cluster, observed.records
    printing.emit(write(plan, desired, cluster, section, beside.groups, records=records))


def _emit_text(
    plan: Plan, desired: Desired, observed: Observation, beside: Beside, notes: tuple[str, ...]
) -> None:
    left = beside.capacities_after(plan, desired, observed)
    sizes = UnknownSizes.of(plan, observed.cluster)
    if sizes.unknown:
        notes = (*notes, str(sizes))
    if beside.waits:
        printing.emit(plan_text.blocked_text(beside.waits, ink.of_output()) + "\n")
    records = observed.records
    text = plan_text.render(
        plan, desired, observed.cluster, left, ink.of_output(), notes, records=records
    )
    printing.emit(text)
    if beside.groups:
        from poolkeeper.cli.output.plans import groups_table

        table = groups_table.lines(beside.groups, ink.of_output())
        printing.emit("\n" + "\n".join(table))
    if beside.foretold is not None:
        from poolkeeper.rehearsal.results import foretelling

        printing.emit("\n" + "\n".join(foretelling.forecast_lines(*beside.foretold)))
    if beside.balance_waits_until_ms is not None:
        until = moment(beside.balance_waits_until_ms)
        printing.emit(
            f"\nUntil {until} a loop leaves out what is for balance alone"
            " (spec.balancing.coolDown)."
        )


def _section(rehearsal: "Rehearsal", worst: "Rehearsal | None") -> "Section":
    from poolkeeper.rehearsal.results import foretelling

    return foretelling.section(rehearsal, worst)
