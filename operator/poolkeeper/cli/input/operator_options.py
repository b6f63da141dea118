"""The options of `poolkeeper run --kubernetes`, and the start of the operator."""

import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from poolkeeper import bounded_http
from poolkeeper.cli.input import bounded_files
from poolkeeper.errors import Refused
from poolkeeper.kube.leadership.leader_election import (
    DURATION_S,
    DURATION_S_MAX,
    DURATION_S_MIN,
)
from poolkeeper.resources.parse.quantities import positive_duration_s
from poolkeeper.telemetry import logs
from poolkeeper.telemetry.audit import Emit
from poolkeeper.telemetry.secret_masking import Secrets
from poolkeeper.temporary_folders import temporary_folder

if TYPE_CHECKING:
    from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings as PlannerPods
    from poolkeeper.model.desired import Desired
    from poolkeeper.model.execution.outcomes import LastObservation
    from poolkeeper.model.plans import Plan

LISTEN = "0.0.0.0:8080"
LEASE = "poolkeeper"
PLANNERS = 2
PLANNING_JOBS_BYTES_MAX = 2**20
LEVELS = ("debug", "info", "warning", "error")
DEADLINE_S = 10.0

Function = Callable[..., Any]

_OPTIONS = (
    click.option(
        "--namespace",
        metavar="NS",
        help="The namespace of the Lease and the Secrets. [default: the pod's]",
    ),
    click.option(
        "--watch-namespace",
        "watched",
        metavar="NS",
        multiple=True,
        help="Only Topics of this namespace. Repeatable.",
    ),
    click.option("--lease", metavar="NAME", help=f"Name of the Lease. [default: {LEASE}]"),
    click.option(
        "--lease-seconds",
        metavar="N",
        type=click.IntRange(DURATION_S_MIN, DURATION_S_MAX),
        help=f"How long a leader that vanished keeps the Lease. [default: {DURATION_S}]",
    ),
    click.option(
        "--lease-owner", metavar="DEPLOYMENT", help="With which the Lease goes. [default: none]"
    ),
    click.option(
        "--identity",
        metavar="NAME",
        help="The name in the Lease. [default: POD_NAME, or host and pid]",
    ),
    click.option(
        "--listen",
        metavar="HOST:PORT",
        help=f"For /healthz, /readyz and /metrics. [default: {LISTEN}]",
    ),
    click.option(
        "--log-format", type=click.Choice(("text", "json")), help="Form of the log. [default: text]"
    ),
    click.option(
        "--log-level", type=click.Choice(LEVELS), help="The least that is logged. [default: info]"
    ),
    click.option(
        "--planners",
        metavar="N",
        type=click.IntRange(0, 32),
        help=f"Processes that plan big clusters. [default: {PLANNERS}]",
    ),
    click.option(
        "--settle",
        metavar="DURATION",
        help="How long what is declared must stay unchanged before moves and deletions begin."
        " [default: 5s]",
    ),
    click.option(
        "--planning-jobs",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Settings of the Jobs that plan Rebalances, as JSON. [default: no Jobs]",
    ),
)


def options(function: Function) -> Function:
    """Add the options that need --kubernetes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def refuse_all(given: Mapping[str, Any]) -> None:
    """Raise a usage error if one of these options was given without --kubernetes."""
    for name, value in given.items():
        if value not in (None, ()):
            word = "watch-namespace" if name == "watched" else name.replace("_", "-")
            raise click.UsageError(f"--{word} goes with --kubernetes")


def operate(given: Mapping[str, Any], emit: Emit, stop: Event) -> None:
    """Run the operator until `stop` is set; raises Refused where no API server is configured.

    `emit` takes what goes into the audit trail.
    """
    # Other commands do not import kopf and the client: half a second, tens of megabytes.
    from poolkeeper.controller.cluster_loops import SETTLE_S
    from poolkeeper.controller.operator import Operator, OperatorSettings
    from poolkeeper.kube.client.client import Api

    level = getattr(logging, (given["log_level"] or "info").upper())
    masked = Secrets()
    logs.set_up(sys.stderr, as_json=given["log_format"] == "json", level=level, secrets=masked)
    api = Api.connect(deadline_s=DEADLINE_S)
    namespace = given["namespace"] or os.environ.get("POD_NAMESPACE") or api.namespace
    if not namespace:
        raise Refused("the operator's own namespace is not known (expected --namespace)")
    listen = given["listen"] or LISTEN
    bounded_http.parse_listen(listen)
    with temporary_folder() as folder:
        settings = OperatorSettings(
            namespace=namespace,
            lease=given["lease"] or LEASE,
            lease_owner=given["lease_owner"] or "",
            lease_s=given["lease_seconds"] or DURATION_S,
            identity=given["identity"] or _identity(),
            listen=listen,
            folder=folder,
            watched=tuple(dict.fromkeys(given["watched"])),
            planners=PLANNERS if given["planners"] is None else given["planners"],
            planning=planning_pods(given["planning_jobs"]),
            settle_s=positive_duration_s(given["settle"]) if given["settle"] else SETTLE_S,
            emit=emit,
            masked=masked,
            plan_text=_plan_text,
        )
        Operator(api, settings).run(stop)
    api.close()


def planning_pods(file: Path | None) -> "PlannerPods | None":
    """The settings of planning Jobs, or None without a file; raises Refused."""
    from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings as PlannerPods

    if file is None:
        return None
    return PlannerPods.from_json(bounded_files.read_text(file, PLANNING_JOBS_BYTES_MAX))


def _plan_text(plan: "Plan", desired: "Desired", seen: "LastObservation") -> str:
    """Return what `poolkeeper plan` prints of a plan."""
    from poolkeeper.cli.output.plans import plan_text
    from poolkeeper.planning.diagnosis import remaining_capacity

    cluster, records = seen.cluster, seen.records
    left = remaining_capacity.remaining_capacities(plan, desired, cluster, seen.gone, records)
    return plan_text.render(plan, desired, cluster, left, records=records)


def _identity() -> str:
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"
