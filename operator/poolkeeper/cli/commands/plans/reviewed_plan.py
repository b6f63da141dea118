"""The plan of a file, which somebody has reviewed: carried out as it stands, or not at all.

A part of it may be done already, by an `apply` that was interrupted or by hand; the rest is judged.
"""

from pathlib import Path

from poolkeeper.cli.input import bounded_files
from poolkeeper.errors import StalePlan
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.planning.audit import audit
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.plans.audited_plans import violations_of_rest

PLAN_BYTES_MAX = 2**30
"""Some four million moves, of 250 bytes each: twenty times the largest clusters."""


def read(file: Path) -> Plan:
    """Return the plan; raises as `plan_json.decode`, and `Refused` if the file cannot be read."""
    return plan_json.decode(bounded_files.read(file, PLAN_BYTES_MAX), str(file))


def require_fit(
    plan: Plan, file: str, desired: Desired, observed: Observation, fingerprint: str
) -> None:
    """Raise `StalePlan` or `Refused` unless the plan fits what is declared and live.

    `fingerprint`: of what is declared now.
    """
    if plan.cluster != desired.cluster.name:
        raise StalePlan(f"{file} is a plan for cluster {plan.cluster}")
    if plan.fingerprint != fingerprint:
        raise StalePlan(
            f"{file} was made for other manifests, or with other brokers gone: plan again"
        )
    if drifts := step_progress.staleness(plan, observed.cluster):
        raise StalePlan("the cluster changed since the plan was made", facts=drifts)
    if violations := violations_of_rest(plan, desired, observed):
        raise audit.refusal(violations)
