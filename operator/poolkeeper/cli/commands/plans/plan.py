"""`poolkeeper plan`, and the making of a plan for `apply` as well."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper import output_files, wording
from poolkeeper.cli.commands.plans.plan_output import (
    PAGES,
    REASSIGN_JSON,
    Beside,
    damage,
    document,
    has_more_to_do,
    show,
)
from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import targets, what_if
from poolkeeper.cli.input.clusters.plan_observation import (
    PlanObservation,
    now_ms,
    observe_for_plan,
    observe_snapshot,
)
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.input.clusters.what_if import SupposedBrokers, suppose_brokers
from poolkeeper.cli.input.files import fleet_features
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.input.output_options import OutputOption
from poolkeeper.cli.output import left_alone, left_undone, printing
from poolkeeper.jsontext import indented
from poolkeeper.model.columns.move_columns import columns_of_moves
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ApprovalPolicy
from poolkeeper.model.topology import Cluster, RefusedConfig
from poolkeeper.planning.audit import audit
from poolkeeper.planning.diagnosis import remaining_capacity
from poolkeeper.planning.lawful_plan import LawfulPlan, lawful_plan
from poolkeeper.planning.parts.platform_first import platform_first
from poolkeeper.planning.parts.split import with_parts
from poolkeeper.planning.planner import PlanOptions, make_plan
from poolkeeper.planning.run_state.gates import disks, gates, stray_logs
from poolkeeper.reconcile import adoption
from poolkeeper.reconcile.authority import authority_of
from poolkeeper.reconcile.decide import approval, cool_down, hand_over
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.report import predicted
from poolkeeper.text import named
from poolkeeper.typed_json import INTEGER_MAX
from poolkeeper.zk.client.gc_pause import collector_paused

if TYPE_CHECKING:
    from poolkeeper.rehearsal.values import Rehearsal
    from poolkeeper.studies.planned_groups import PlannedGroup

CHANGES = 2
_SUPPOSED = re.compile(r"([0-9]{1,10})(?::(.+))?")
RefusedConfigs = Callable[[Plan, Cluster], Mapping[str, RefusedConfig]]
"""Returns the configs of a plan that the brokers refuse, by topic."""


def ask_nobody(plan: Plan, cluster: Cluster) -> Mapping[str, RefusedConfig]:
    """Ask nobody."""
    return {}


@click.command()
@options.by_manifests
@options.snapshot("Plan for a snapshot instead of the live cluster; nothing is connected to.")
@click.option(
    "--features",
    metavar="URI",
    help="Plan with the load history that `fleet features` made: its --out.",
)
@click.option(
    "--without",
    metavar="ID",
    type=click.IntRange(min=0),
    multiple=True,
    help="Suppose that this broker is gone for good. Repeatable.",
)
@click.option(
    "--with-broker",
    "with_brokers",
    metavar="ID:RACK",
    multiple=True,
    help="Suppose that this broker is there. Repeatable.",
)
@click.option(
    "--out",
    cls=OutputOption,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the plan there, for `apply --plan`.",
)
@click.option(
    "--group",
    "groups",
    metavar="NAME",
    multiple=True,
    help="Also tell what members of this live consumer group read then. Repeatable.",
)
@click.option("--prune", is_flag=True, help="Plan deletions of topics that are no longer declared.")
@click.option(
    "--rehearse",
    is_flag=True,
    help="Also rehearse the plan: how long it takes, its margins, the worst single fault.",
)
@options.output(REASSIGN_JSON, *PAGES)
def plan(
    address: ClusterSelection,
    snapshot: Path | None,
    features: str | None,
    out: Path | None,
    prune: bool,
    output: str,
    **supposed: Any,
) -> int:
    """Show what would change, why, and how many bytes move. Changes nothing.

    Exit code 0: the cluster is as declared. 2: there are changes, or throttles that a run of ours
    left. 4: there is nothing to do, yet the cluster is not as declared: something is left undone or
    blocked, and JSON says what (`asDeclared`, `problems`, `blocked`).

    `--output json` is the plan as `--out` writes it; `--output reassign-json` is Kafka's own
    reassignment file, one per stage, a line each; `html` is a page with pictures that opens
    without a network, `markdown` fits a comment on a pull request.
    """
    # What a plan is made of stays until the command ends; what a rehearsal leaves does not.
    with nullcontext() if supposed["rehearse"] else collector_paused():
        return _plan(address, snapshot, features, out, prune, output, supposed)


def _plan(
    address: ClusterSelection,
    snapshot: Path | None,
    features: str | None,
    out: Path | None,
    prune: bool,
    output: str,
    supposed: Mapping[str, Any],
) -> int:
    target = targets.target(address)
    desired = target.desired
    assert desired is not None, "this command takes manifests only"
    left_alone.tell(target.others)
    if snapshot and supposed["groups"]:
        raise click.UsageError("--group is a live group, which a snapshot does not tell of")
    found = observe_snapshot(snapshot, desired) if snapshot else observe_for_plan(target, desired)
    seen = found.observed
    if features is not None:
        name = desired.cluster.name
        loaded = fleet_features.with_features(seen.cluster, features, name)
        printing.warn(loaded.warnings)
        seen = replace(seen, cluster=loaded.cluster)
    without, with_brokers = supposed["without"], supposed["with_brokers"]
    brokers_supposed = SupposedBrokers(frozenset(without), _brokers(with_brokers))
    seen = suppose_brokers(seen, brokers_supposed)
    useless = what_if.unused_brokers(brokers_supposed, desired)
    seen = adoption.with_approved_adoptions(desired, seen, desired.cluster.approval.plans)
    brokers = ask_nobody if snapshot else _config_questions(target)
    made = audited_plan(desired, seen, prune=prune, refused=brokers)
    if not (without or with_brokers):  # what is only supposed needs no mending
        made = with_troubles(made, desired, seen)
    printing.warn((*found.warnings, *useless, *_without_effect(made, desired, found, seen)))
    if snapshot is None and target.bootstrap:
        printing.warn(_unknown_room(made, desired, seen))
    found = replace(found, waits=(*found.waits, *stage_waits(made, desired, seen)))
    waits_until_ms = _balance_waits(made, desired, seen)
    groups = _groups(made, seen, target, supposed["groups"])
    beside = Beside(waits_until_ms, found.waits, groups=groups)
    if out is not None:
        left = remaining_capacity.remaining_capacities(
            made, desired, seen.cluster, seen.gone, seen.records
        )
        beside = replace(beside, capacities=left)
        body = document(made, desired, seen, beside)
        output_files.write(out, indented(body, 1) + "\n")
    foretold = _rehearsed(made, seen, desired) if supposed["rehearse"] else None
    show(made, desired, seen, output, replace(beside, foretold=foretold))
    if not made.empty or has_more_to_do(seen):
        return CHANGES
    undone = found.waits or left_undone.of_plan(made) or damage(seen)
    return left_undone.EXIT_CODE if undone else 0


def _without_effect(
    made: Plan, desired: Desired, found: PlanObservation, seen: Observation
) -> tuple[str, ...]:
    """Say which of the declared approvals fit no plan, or lack an approval of what comes before."""
    asked = found.pending or made
    approvals = frozenset(desired.cluster.approval.plans) - found.carried_out
    if not approvals or made.empty:
        return ()
    unknown = approval.unmatched_approvals(made, approval.unmatched_approvals(asked, approvals))
    if unknown:
        unknown -= hand_over.known_hashes(desired, seen.cluster, seen.records)
    return wording.sentences(approval.waits_of(asked, approvals, unknown))


def _unknown_room(made: Plan, desired: Desired, seen: Observation) -> list[str]:
    """Say of which brokers nobody knows whether the copies fit."""
    unknown = disks.unknown_targets(made.moves, desired, seen.cluster)
    if not unknown:
        return []
    why = "brokers tell from Kafka 3.3 on, and the pool declares no capacity.disk"
    return [f"the free space of {named('broker', unknown)} is not known: {why}"]


def audited_plan(
    desired: Desired,
    observed: Observation,
    *,
    prune: bool,
    refused: RefusedConfigs = ask_nobody,
    forecast: bool = True,
) -> Plan:
    """Make the plan with stages and parts, and audit it; `refused` asks the brokers about configs.

    Without `forecast` it has no stages. What only the live cluster shows to be impossible is a
    problem of its topic or pool, and all else is planned.

    Raises Refused for a broken rule.
    """
    found = _lawful(desired, observed, prune=prune)
    if said := refused(found.plan, observed.cluster):
        observed = replace(observed, cluster=replace(observed.cluster, refused_configs=said))
        found = _lawful(desired, observed, prune=prune)
    made, desired = found.plan, found.desired
    at = observed.circumstances(desired)
    if desired.cluster.approval.policy is ApprovalPolicy.MANUAL:
        made = platform_first(made, at, partial(make_plan, options=PlanOptions(prune)))
    else:
        made = with_parts(made, at)
    return predicted.with_prediction(made, at) if forecast else made


def _lawful(desired: Desired, observed: Observation, *, prune: bool) -> LawfulPlan:
    known = (observed.cluster, observed.records, observed.gone)
    return lawful_plan(
        desired,
        lambda wanted: make_plan(wanted, *known, PlanOptions(prune)),
        lambda plan, wanted: audit.check_plan(plan, wanted, *known),
    )


def with_troubles(plan: Plan, desired: Desired, observed: Observation) -> Plan:
    """Add what is wrong with the cluster although it may be as declared."""
    return predicted.with_troubles(plan, observed.circumstances(desired))


def _groups(
    made: Plan, seen: Observation, target: Target, names: Sequence[str]
) -> "Sequence[PlannedGroup]":
    """Ask for the groups that are named, and study them."""
    if not names:
        return ()
    from poolkeeper.cli.input.clusters import live_groups  # only a live one needs its clients
    from poolkeeper.studies.planned_groups import planned_groups

    groups, warnings = live_groups.read_groups(target, seen.cluster, names)
    printing.warn(warnings)
    return planned_groups(made, seen.cluster, groups)


def _rehearsed(
    plan: Plan, seen: Observation, desired: Desired
) -> "tuple[Rehearsal, Rehearsal | None] | None":
    """Rehearse the plan that was made, and each single fault; None for an empty plan."""
    if plan.empty:
        return None
    from poolkeeper.rehearsal.results import foretelling  # brings a simulated cluster
    from poolkeeper.rehearsal.results.outcomes import Subject
    from poolkeeper.rehearsal.values import Settings

    subject = Subject(seen.cluster, desired, partial(audited_plan, prune=False))
    return foretelling.foretell(subject, Settings(begin_ms=now_ms()))


def _balance_waits(plan: Plan, desired: Desired, observed: Observation) -> int | None:
    """Until when a loop leaves out what is for balance alone, if it does."""

    def planned(wanted: Desired) -> Plan:
        return make_plan(wanted, observed.cluster, observed.records, observed.gone)

    authority = authority_of(desired)
    cooled = cool_down.plan_due_now(plan, desired, authority, observed, now_ms(), planned)
    return cooled.waits_until_ms


def _config_questions(target: Target) -> RefusedConfigs:
    from poolkeeper.cli.input.clusters import cluster_reading  # only a live one needs its clients

    return cluster_reading.config_questions(target)


def stage_waits(made: Plan, desired: Desired, seen: Observation) -> tuple[Wait, ...]:
    """Return why moves or creations of the plan would not start now.

    A restart lock, no open window, larger logs on the brokers that replicas come to, and brokers
    that are not live where all moves wait for these.
    """
    at_no_time = gates.waits_before_stages(desired, seen.cluster, now_ms()) if made.moves else ()
    endangered = stray_logs.endangered_by_plan(made.moves, made.steps, seen.cluster, desired)
    return (*at_no_time, *endangered, *_waits_for_dead(made, desired, seen))


def _waits_for_dead(made: Plan, desired: Desired, seen: Observation) -> Iterator[Wait]:
    """Yield what all moves wait for, of brokers that are not live."""
    named = distinct(columns_of_moves(made.moves).lists.ids)
    if set(seen.cluster.brokers).issuperset(named.tolist()):
        return
    from poolkeeper.reconcile.decide import begin  # brings all of a run, and few plans need it

    for wait in begin.waits_of_held(made, desired, seen.cluster, seen.gone):
        if wait.reason is WaitReason.TARGET_NOT_LIVE:
            yield wait


def _brokers(words: Sequence[str]) -> dict[int, str | None]:
    """Parse `4:a`, or `4` for a broker without a rack."""
    found: dict[int, str | None] = {}
    wrong: list[str] = []
    for word in words:
        parts = _SUPPOSED.fullmatch(word)
        if parts is None or int(parts[1]) > INTEGER_MAX:
            wrong.append(f"{word!r} (expected ID:RACK)")
        elif int(parts[1]) in found:
            wrong.append(f"broker {int(parts[1])} is given twice (expected once)")
        else:
            found[int(parts[1])] = parts[2]
    if wrong:
        raise click.BadParameter("; ".join(wrong), param_hint="--with-broker")
    return found
