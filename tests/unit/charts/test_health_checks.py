"""What Argo CD and Flux make of our statuses, by the scripts and expressions that we ship."""

from pathlib import Path
from typing import Any

import cel
import pytest
import yaml
from lupa import lua51  # Argo CD's interpreter speaks Lua 5.1

from poolkeeper.kube.objects.status_writer import FOR_PEOPLE

EXAMPLES = Path(__file__).parents[3] / "examples"
KINDS = ("KafkaCluster", "ResourcePool", "Topic", "Rebalance")
SCRIPTS = yaml.safe_load((EXAMPLES / "argocd/argocd-cm.yaml").read_text(encoding="utf-8"))["data"]
EXPRESSIONS = {
    one["kind"]: one
    for document in yaml.safe_load_all(
        (EXAMPLES / "flux/topology.yaml").read_text(encoding="utf-8")
    )
    for one in document["spec"].get("healthCheckExprs", ())
}
SANDBOX = ("ipairs", "pairs", "type", "tostring", "tonumber", "string", "table", "math")


def condition(kind: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


READY = condition("Ready", "True", "InPlace", "12 partitions, as declared")
UNREADY = condition("Ready", "False", "Moving", "3 of 12 partitions")
MOVING = condition("Reconciling", "True", "Moving", "3 of 12 partitions")
STALLED = condition("Stalled", "True", "NoSuchPool", "there is no pool main-fats")


def waiting(reason: str) -> list[dict[str, Any]]:
    return [
        condition("Ready", "False", reason, "a person must act"),
        condition("Reconciling", "True", reason, "a person must act"),
    ]


NEVER_SEEN = "Poolkeeper has not observed it yet"
TABLE = [
    pytest.param(None, ("Progressing", NEVER_SEEN), "InProgress", id="no-status-yet"),
    pytest.param({}, ("Progressing", NEVER_SEEN), "InProgress", id="an-empty-status"),
    pytest.param(
        {"observedGeneration": 2}, ("Progressing", NEVER_SEEN), "InProgress", id="no-conditions-yet"
    ),
    pytest.param(
        {"conditions": [READY]}, ("Progressing", NEVER_SEEN), "InProgress", id="no-generation-yet"
    ),
    pytest.param(
        {"observedGeneration": 1, "conditions": [READY]},
        ("Progressing", "Poolkeeper has not observed the last change yet"),
        "InProgress",
        id="ready-as-it-was-before-the-last-change",
    ),
    pytest.param(
        {"observedGeneration": 1, "conditions": [STALLED]},
        ("Progressing", "Poolkeeper has not observed the last change yet"),
        "InProgress",
        id="stalled-as-it-was-before-the-change-that-may-mend-it",
    ),
    pytest.param(
        {"observedGeneration": 2, "conditions": [READY]},
        ("Healthy", "12 partitions, as declared"),
        "Current",
        id="ready",
    ),
    pytest.param(
        {
            "observedGeneration": 2,
            "conditions": [READY, {**MOVING, "status": "False"}, {**STALLED, "status": "False"}],
        },
        ("Healthy", "12 partitions, as declared"),
        "Current",
        id="ready-and-the-others-are-said-to-be-false",
    ),
    pytest.param(
        {"observedGeneration": 2, "conditions": [UNREADY, STALLED]},
        ("Degraded", "there is no pool main-fats"),
        "Failed",
        id="stalled",
    ),
    pytest.param(
        {"observedGeneration": 2, "conditions": [READY, STALLED]},
        ("Degraded", "there is no pool main-fats"),
        "Failed",
        id="stalled-wins-over-ready",
    ),
    pytest.param(
        {"observedGeneration": 2, "conditions": [UNREADY, MOVING]},
        ("Progressing", "3 of 12 partitions"),
        "InProgress",
        id="moving",
    ),
    pytest.param(
        {
            "observedGeneration": 2,
            "conditions": [
                condition("Ready", "Unknown", "Unreachable", "no answer from zk-1:2181"),
                condition("Reconciling", "True", "Unreachable", "no answer from zk-1:2181"),
            ],
        },
        ("Progressing", "no answer from zk-1:2181"),
        "InProgress",
        id="unreachable-mends-itself",
    ),
    pytest.param(
        {"observedGeneration": 2, "conditions": [UNREADY]},
        ("Progressing", "3 of 12 partitions"),
        "InProgress",
        id="not-ready-and-nothing-else-is-said",
    ),
    *(
        pytest.param(
            {"observedGeneration": 2, "conditions": waiting(reason)},
            ("Suspended", "a person must act"),
            "Current",
            id=f"waits-for-a-person-{reason}",
        )
        for reason in sorted({"PlanOnly", "Paused"} | FOR_PEOPLE)
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("status", "argo", "flux"), TABLE)
def test_health(kind, status, argo, flux):
    seen = {"kind": kind, "metadata": {"name": "x", "generation": 2}, "spec": {}}
    if status is not None:
        seen["status"] = status
    assert argo_health(kind, seen) == argo
    assert flux_health(kind, seen) == flux


def test_there_is_a_check_for_each_of_our_kinds_and_for_no_others():
    assert set(SCRIPTS) == {f"resource.customizations.health.poolkeeper.dev_{k}" for k in KINDS}
    assert set(EXPRESSIONS) == set(KINDS)
    assert {one["apiVersion"] for one in EXPRESSIONS.values()} == {"poolkeeper.dev/v1alpha1"}


def argo_health(kind: str, seen: dict[str, Any]) -> tuple[str, str]:
    """Run the script as Argo CD does: the object is `obj`, and there is no way out."""
    lua = lua51.LuaRuntime(register_eval=False, register_builtins=False)
    script = SCRIPTS[f"resource.customizations.health.poolkeeper.dev_{kind}"]
    globals_ = lua.globals()
    for name in set(globals_.keys()) - set(SANDBOX):
        if name not in ("setfenv", "loadstring"):
            globals_[name] = None
    globals_.obj = lua.table_from(seen, recursive=True)
    answer = lua.execute(script)
    return answer.status, answer.message


def flux_health(kind: str, seen: dict[str, Any]) -> str:
    """Ask in Flux's order; it does not look at expressions while observedGeneration lags.

    An expression that names what is not there cannot be evaluated: Flux asks again later.
    """
    observed = seen.get("status", {}).get("observedGeneration")
    if observed not in (None, seen["metadata"]["generation"]):
        return "InProgress"
    expressions = EXPRESSIONS[kind]
    try:
        if cel.evaluate(expressions["failed"], seen):
            return "Failed"
        return "Current" if cel.evaluate(expressions["current"], seen) else "InProgress"
    except RuntimeError:
        assert "status" not in seen
        return "InProgress"
