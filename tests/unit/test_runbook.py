"""`docs/operations.md` has a row for each reason of a condition, each event and each alert."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from poolkeeper.resources.status import health
from poolkeeper.resources.status.decision_events import TOLD_ACTIONS, TOLD_WAITS

ROOT = Path(__file__).parents[2]
CODE = ROOT / "operator" / "poolkeeper"
RUNBOOK = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
EVENTS = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
ALERTS = ROOT / "charts" / "poolkeeper" / "files" / "prometheus" / "alerts.yaml"
POSITIONS = {"ReadyCondition": 1, "Verdict": 0, "StatusEvent": 1}
"""Where the reason is among the arguments."""
MIN_REASONS = 20


def texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be, where it says them itself."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp():
            yield from texts(node.body)
            yield from texts(node.orelse)
        case _:
            return


def said(*classes: str) -> set[str]:
    """Return the reasons that the code gives to values of these classes, and returns by helpers."""
    found: set[str] = set()
    helpers = "ReadyCondition" in classes
    words = (*classes, "_reason(") if helpers else classes
    for file in CODE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if not any(word in text for word in words):
            continue  # to parse all of the code takes a second
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                position = POSITIONS.get(node.func.id)
                if node.func.id in classes and position is not None:
                    for argument in node.args[position : position + 1]:
                        found.update(texts(argument))
            elif helpers and isinstance(node, ast.FunctionDef) and node.name.endswith("_reason"):
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and each.value is not None:
                        found.update(texts(each.value))
    return {reason for reason in found if re.fullmatch(r"[A-Z][A-Za-z]+", reason)}


def rows(title: str) -> set[str]:
    """Return what the first column names in the table below a title."""
    section = RUNBOOK.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    firsts = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    return {name for first in firsts for name in re.findall(r"`(\w+)`", first)}


def test_every_reason_of_a_condition_has_a_row():
    reasons = said("ReadyCondition", "Verdict")
    reasons |= {reason.value for reason in (*health.STALLING, *health.PASSING)}
    assert len(reasons) > MIN_REASONS
    assert reasons - rows("Reasons of the condition Ready") == set()


def test_every_reason_for_which_what_is_in_place_is_not_ready_has_a_row():
    section = RUNBOOK.partition("\n### As declared, and yet not Ready\n")[2].partition("\n## ")[0]
    found = dict(re.findall(r"^\| `(\w+)` \|.*\((Stalled|Reconciling)\) \|", section, re.MULTILINE))
    stalling = {reason.value: "Stalled" for reason in health.STALLING}
    assert found == stalling | {reason.value: "Reconciling" for reason in health.PASSING}


def test_every_event_has_a_row_and_is_on_the_list():
    events = said("StatusEvent") | set(TOLD_WAITS.values())
    events |= {kind.value for kind in TOLD_ACTIONS}
    assert events - rows("Events") == set()
    assert events - listed_events() == set()


def test_the_list_of_events_and_the_runbook_have_the_same():
    assert listed_events() == rows("Events")


def listed_events() -> set[str]:
    """Return what the first columns of the tables of `events.md` name."""
    firsts = re.findall(r"^\| (`[^|]*`) \|", EVENTS, re.MULTILINE)
    return {name for first in firsts for name in re.findall(r"`(\w+)`", first)}


def test_every_alert_has_a_row_and_no_other():
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"]}
    assert rows("Alerts") == alerts


@pytest.mark.parametrize("name", ["operations", "security"])
def test_links_lead_somewhere(name):
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / "docs" / target).exists(), target
