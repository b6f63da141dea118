"""Alerts as the chart renders them: Prometheus' own tool reads them and runs their tests."""

import subprocess
from pathlib import Path

import pytest
import yaml

from chart.rendering import render, the_only
from control_plane import building

TESTS = Path(__file__).with_name("alerts.yaml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the rendered rules and their tests."""
    folder = tmp_path_factory.mktemp("rules")
    rule = the_only(render({"prometheusRule": {"enabled": True}}), "PrometheusRule")
    (folder / "rules.yaml").write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    (folder / "tests.yaml").write_text(TESTS.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def promtool(folder, *arguments):
    return subprocess.run(
        [building.promtool(), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_prometheus_accepts_the_rules(folder):
    run = promtool(folder, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    assert run.returncode == 0, run.stdout + run.stderr


def test_alerts_fire_when_they_should_and_not_before(folder):
    run = promtool(folder, "test", "rules", "tests.yaml")
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_wrong_expectation_fails(folder):
    """Otherwise the test above would prove nothing; one series of it is enough."""
    text = (folder / "tests.yaml").read_text(encoding="utf-8").replace("time: 5m", "time: 9m")
    tests = yaml.safe_load(text)
    changed = next(test for test in tests["tests"] if "eval_time': '9m'" in str(test))
    text = yaml.safe_dump({**tests, "tests": [changed]})
    (folder / "wrong.yaml").write_text(text, encoding="utf-8")
    assert promtool(folder, "test", "rules", "wrong.yaml").returncode != 0


def test_every_alert_is_seen_firing(folder):
    rules = yaml.safe_load((folder / "rules.yaml").read_text(encoding="utf-8"))
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    text = TESTS.read_text(encoding="utf-8")
    cases = [case for test in yaml.safe_load(text)["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == alerts
