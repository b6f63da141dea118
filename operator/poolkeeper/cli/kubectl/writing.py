"""`kubectl poolkeeper approve`, `stop`, `rollback` and `resume`."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.kubectl import approvals, gitops, operators
from poolkeeper.cli.kubectl.access import Body, UserAccess, status_of
from poolkeeper.cli.kubectl.approvals import NamedHash
from poolkeeper.cli.kubectl.options import by_user, cluster_option
from poolkeeper.cli.kubectl.readiness import readiness
from poolkeeper.cli.output import printing
from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.model.execution.person_requests import PersonRequest, RequestKind
from poolkeeper.model.names import REQUEST
from poolkeeper.resources.status.plan_fields import PARTS_MAX, PlanApproval

Function = Callable[..., Any]

ATTEMPTS = 5
ANSWER_S = 60.0
POLL_S = 0.5


def _approval(function: Function) -> Function:
    """Add the parts, and the options of an approval."""
    for add in (
        options.output(),
        click.option(
            "--now", is_flag=True, help="Also where Git has the last word: until it is applied."
        ),
        click.option(
            "--plan", "expected", metavar="HASH", help="Approve only if the plan is still this."
        ),
        click.argument("parts", metavar="[PART]…", nargs=-1),
    ):
        function = add(function)
    return by_user(function)


@click.command()
@_approval
@cluster_option
def approve(**given: Any) -> None:
    """Approve the plan that waits, or parts of it (see `plan`), by their hashes.

    `adoption/NAMESPACE` lets the Topics of a namespace take over what they ask for (see `status`).

    Where the KafkaCluster is applied from Git (Argo CD, Flux), the lines to commit are printed
    instead.
    """
    _approve(**given)


@click.command("approve")
@click.argument("cluster", metavar="CLUSTER")
@_approval
def approve_cluster(**given: Any) -> None:
    """On Kubernetes: approve the plan that waits for CLUSTER, or parts of it, by their hashes.

    CLUSTER is the name of a KafkaCluster. The same as `kubectl poolkeeper approve`. Where it is
    applied from Git (Argo CD, Flux), the lines to commit are printed instead.
    """
    _approve(**given)


def _approve(
    access: UserAccess,
    parts: tuple[str, ...],
    cluster: str,
    expected: str | None,
    now: bool,
    output: str,
) -> None:
    for attempt in range(ATTEMPTS):
        body = access.cluster(cluster)
        found = _approvals(access, body, parts, expected)
        keeper = gitops.keeper_of(body)
        user = "" if keeper and not now else access.user()
        wanted = approvals.with_approvals(body["spec"], found, _current(access, body), user)
        if keeper and not now:
            _print_lines(body, wanted, found, keeper, output)
            return
        try:
            _patch_approval(access, body, wanted)
            break
        except Stale:
            if attempt == ATTEMPTS - 1:
                raise
    if output == printing.JSON:
        printing.emit_json({"cluster": body["metadata"]["name"], "approval": wanted})
    else:
        names = ", ".join(f"{each.name} {each.hash}" for each in found)
        printing.emit(f"approved for {body['metadata']['name']}: {names}")
    _warn_without_leader(access, body)


@click.command()
@by_user
@cluster_option
@click.option("--no-wait", is_flag=True, help="Do not wait for the operator's answer.")
@options.output()
def stop(access: UserAccess, cluster: str, no_wait: bool, output: str) -> int:
    """End the run under way after its current stage; what has moved stays moved.

    Nothing moves again before `resume`, or before something else is declared.
    """
    return ask(access, cluster, RequestKind.STOP, output, wait=not no_wait)


@click.command()
@by_user
@cluster_option
@click.option(
    "--allow-controller-failover",
    "allow_failover",
    is_flag=True,
    help="Let another controller be elected, where the brokers' API cannot cancel moves.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait for the operator's answer.")
@options.output()
def rollback(
    access: UserAccess, cluster: str, allow_failover: bool, no_wait: bool, output: str
) -> int:
    """Cancel the moves in flight and end the run; what has moved before stays moved.

    Nothing moves again before `resume`, or before something else is declared.
    """
    return ask(
        access,
        cluster,
        RequestKind.ROLLBACK,
        output,
        wait=not no_wait,
        allow_failover=allow_failover,
    )


@click.command()
@by_user
@cluster_option
@click.option("--no-wait", is_flag=True, help="Do not wait for the operator's answer.")
@options.output()
def resume(access: UserAccess, cluster: str, no_wait: bool, output: str) -> int:
    """Let what was stopped or rolled back begin again."""
    return ask(access, cluster, RequestKind.RESUME, output, wait=not no_wait)


def _approvals(
    access: UserAccess, body: Body, names: Sequence[str], expected: str | None
) -> tuple[NamedHash, ...]:
    status, name = status_of(body), body["metadata"]["name"]
    plan, asked = status.get("plan") or {}, approvals.adoptions(status)
    if expected or not (names and asked):
        if not plan.get("hash"):
            raise Refused(f"no plan of {name} waits for approval: {readiness(body).message}")
        if expected and not approvals.is_prefix(expected, plan["hash"]):
            raise Refused(f"the plan of {name} is now {plan['hash']}: look at it again")
        if not _is_waiting(plan):
            told = plan["approval"]
            raise Refused(f"the plan {plan['hash']} of {name} needs no approval: {told}")
    hash_ = plan["hash"] if _is_waiting(plan) else ""
    parts = _parts(access, body) if names and hash_ else ()
    approved = (body["spec"].get("approval") or {}).get("plans") or ()
    return approvals.approvals_of(hash_, (*parts, *asked), names, approved)


def _is_waiting(plan: Body) -> bool:
    return bool(plan.get("hash")) and plan.get("approval") in (PlanApproval.WAITING, None)


def _current(access: UserAccess, body: Body) -> list[str] | None:
    """Return the hashes of all that waits; None where earlier approvals may still count.

    They may while an approved plan is carried out, and where its parts may not be read.
    """
    status = status_of(body)
    plan = status.get("plan") or {}
    if not _is_waiting(plan):
        return None
    try:
        parts = (*_parts(access, body), *approvals.adoptions(status))
    except Forbidden:
        return None
    return [plan["hash"], *(part["hash"] for part in parts)]


def _parts(access: UserAccess, body: Body) -> Sequence[Body]:
    """Return the parts of the plan that waits; none where the plan has none.

    The status names the first of them, which may be read by everybody who reads the cluster.
    """
    told: Sequence[Body] = (status_of(body).get("plan") or {}).get("parts") or ()
    if told and len(told) < PARTS_MAX:
        return told
    found = access.plan(body)
    plan = {} if found is None else found.plan or {}
    parts: Sequence[Body] = plan.get("parts") or told
    return parts


def _patch_approval(access: UserAccess, body: Body, wanted: Body) -> None:
    reference = Reference.of(body)
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": reference.uid},
        {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": body["metadata"]["resourceVersion"],
        },
        {"op": "add", "path": "/spec/approval", "value": wanted},
    ]
    stored = access.api.patch_json(reference.path, operations)
    approved = (stored["spec"].get("approval") or {}).get("plans") or ()
    if not set(wanted["plans"]) <= set(approved):
        raise _taken_off(reference, "spec.approval.plans")


def _print_lines(
    body: Body, wanted: Body, found: Sequence[NamedHash], keeper: str, output: str
) -> None:
    name = body["metadata"]["name"]
    if output == printing.JSON:
        printing.emit_json({"cluster": name, "keeper": keeper, "commit": {"approval": wanted}})
        return
    named = {each.hash: each.name for each in found}
    printing.emit(f"# {keeper} applies KafkaCluster {name} from Git. Commit these lines:")
    printing.emit("\n".join(approvals.lines_to_commit(wanted, named)))


def ask(
    access: UserAccess,
    cluster: str,
    kind: RequestKind,
    output: str,
    *,
    wait: bool,
    allow_failover: bool = False,
    answer_s: float = ANSWER_S,
) -> int:
    """Ask the operator for something, wait so long for its answer, and return the exit code.

    Raises `Refused` where no run is under way that could end.
    """
    body = access.cluster(cluster)
    name, plan = body["metadata"]["name"], status_of(body).get("plan") or {}
    if kind is not RequestKind.RESUME and "stage" not in plan:
        raise Refused(f"no run of {name} is under way: {readiness(body).message}")
    run = "" if kind is RequestKind.RESUME else plan["hash"]
    text = str(PersonRequest(kind, run, allow_failover))
    before = status_of(body).get("lastRequest")
    _annotate(access, body, text)
    answer = _answer(access, body, text, before, answer_s) if wait else None
    if output == printing.JSON:
        printing.emit_json({"cluster": name, "request": text, "answer": answer})
    elif answer is not None:
        printing.emit(f"{name}: {answer['message']}")
    elif wait:
        late = f"the operator has not answered within {answer_s:.0f} s; it will, once one leads"
        printing.warn([late])
    else:
        printing.emit(f"{name}: asked for: {text}")
    if answer is None:
        _warn_without_leader(access, body)
    return Unavailable.exit_code if wait and answer is None else 0


def _warn_without_leader(access: UserAccess, body: Body) -> None:
    """Say so where nobody will do what was asked for before an operator leads again."""
    known = operators.operator_releases(access.api, [body])
    printing.warn(each.sentence for each in known if not each.leads)


def _annotate(access: UserAccess, body: Body, text: str) -> None:
    reference = Reference.of(body)
    annotations = {**(body["metadata"].get("annotations") or {}), REQUEST: text}
    seen = body["metadata"].get("annotations")
    known = (
        {"op": "test", "path": "/metadata/uid", "value": reference.uid}
        if seen is None
        else {"op": "test", "path": "/metadata/annotations", "value": seen}
    )
    operations = [known, {"op": "add", "path": "/metadata/annotations", "value": annotations}]
    stored = access.api.patch_json(reference.path, operations)
    if (stored["metadata"].get("annotations") or {}).get(REQUEST) != text:
        raise _taken_off(reference, f"the annotation {REQUEST}")


def _taken_off(reference: Reference, what: str) -> Refused:
    """Return the error for what somebody took off on its way: no operator ever sees it."""
    return Refused(
        f"{reference} was stored without {what}: an admission webhook changes it; have that let it"
        " through (`kubectl get mutatingwebhookconfigurations`)"
    )


def _answer(
    access: UserAccess, body: Body, text: str, before: Body | None, answer_s: float
) -> Body | None:
    """Wait for the operator's answer; None if none came."""
    end_s = time.monotonic() + answer_s
    while time.monotonic() < end_s:
        found = access.cluster(body["metadata"]["name"])
        answer: Body | None = status_of(found).get("lastRequest")
        if answer is not None and answer != before and answer.get("request") == text:
            return answer
        time.sleep(POLL_S)
    return None
