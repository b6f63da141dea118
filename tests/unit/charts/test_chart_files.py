"""The chart's files agree with each other and with the project; no Helm is needed to see that."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from chart import tables
from poolkeeper import __version__
from poolkeeper.telemetry.metrics import Metrics

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts" / "poolkeeper"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((CHART / "files/prometheus/alerts.yaml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((CHART / "files/dashboards/poolkeeper.json").read_text(encoding="utf-8"))
BEGIN, END = "<!-- values: made from values.yaml and values.schema.json -->\n", "<!-- end -->\n"

HANDED_THROUGH = {
    "$.properties.global": "a parent chart's",
    "$.$defs.networkPeer.properties.podSelector": "Kubernetes checks it",
    "$.$defs.networkPeer.properties.namespaceSelector": "Kubernetes checks it",
    "$.$defs.affinity.properties.nodeAffinity": "Kubernetes checks it",
    "$.$defs.affinity.properties.podAffinity": "Kubernetes checks it",
    "$.$defs.affinity.properties.podAntiAffinity": "Kubernetes checks it",
    "$.$defs.env.properties.valueFrom": "Kubernetes checks it",
    "$.$defs.volume": "thirty kinds of volumes; Kubernetes checks it",
}


@pytest.mark.parametrize("folder", ["crds", "policies"])
def test_the_chart_holds_the_project_s_files_to_the_byte(folder, update_golden):
    copies = CHART / "files" / folder
    ours = {file.name: file.read_bytes() for file in (ROOT / folder).glob("*.yaml")}
    if update_golden:
        for name, content in ours.items():
            (copies / name).write_bytes(content)
    assert ours
    assert {file.name: file.read_bytes() for file in copies.glob("*.yaml")} == ours


def test_each_policy_can_be_left_out():
    exclude = SCHEMA["properties"]["policies"]["properties"]["exclude"]["items"]["enum"]
    assert exclude == sorted(file.stem for file in (ROOT / "policies").glob("*.yaml"))


def test_a_definition_has_one_place_for_the_chart_s_annotations():
    """The template puts them before the name, by searching for this text."""
    for file in (ROOT / "crds").glob("*.yaml"):
        assert file.read_text(encoding="utf-8").count("\nmetadata:\n  name:") == 1


def test_versions_of_chart_and_package_agree():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert {chart["version"], chart["appVersion"]} == {__version__}


def test_the_schema_accepts_the_defaults():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(VALUES)) == []


def test_every_object_of_the_schema_is_closed_or_says_why_not():
    """Maps of free keys have a schema for their values."""
    opened = {
        path
        for path, schema in _schemas("$", SCHEMA)
        if schema.get("type") == "object" and schema.get("additionalProperties", True) is True
    }
    assert opened == set(HANDED_THROUGH)


def test_every_value_is_described_by_a_sentence():
    described = [
        (path, schema.get("description", ""))
        for path, schema in _schemas("$", SCHEMA)
        if re.search(r"properties\.\w+$", path)
    ]
    assert len(described) > 90
    assert [path for path, text in described if not re.match(r"^[A-Z].*\.$", text)] == []


def test_every_default_is_in_values_yaml():
    """So that values.yaml shows all there is; `global` belongs to a parent chart."""
    assert set(SCHEMA["properties"]) - {"global"} == set(VALUES)


def test_the_readme_holds_every_value(update_golden):
    file = CHART / "README.md"
    head, rest = file.read_text(encoding="utf-8").split(BEGIN)
    shown, tail = rest.split(END)
    table = tables.as_markdown(SCHEMA, VALUES)
    if update_golden:
        file.write_text(f"{head}{BEGIN}{table}{END}{tail}", encoding="utf-8")
    else:
        assert shown == table
    for path in _leaves("", VALUES):
        assert any(f"| `{part}` |" in table for part in _parents(path)), path


def test_every_metric_of_the_alerts_exists():
    used = {name for rule in RULES for name in _metrics(rule["expr"])}
    assert used
    assert used <= _known_metrics()


def test_every_metric_of_the_dashboard_exists():
    expressions = [target["expr"] for panel in _panels() for target in panel["targets"]]
    expressions += [
        one["definition"] for one in DASHBOARD["templating"]["list"] if "definition" in one
    ]
    used = {name for expression in expressions for name in _metrics(expression)}
    assert used
    assert used <= _known_metrics()


def test_every_family_of_ours_is_on_the_dashboard_or_in_an_alert():
    shown = {name for panel in _panels() for t in panel["targets"] for name in _metrics(t["expr"])}
    shown |= {name for rule in RULES for name in _metrics(rule["expr"])}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    ours = {
        re.sub(r"_(bucket|sum|count)$", "", name)
        for name in _known_metrics()
        if name.startswith("poolkeeper_")
    }
    assert ours - families == {"poolkeeper_loops"}  # for people who debug


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_says_what_is_wrong_and_what_to_do(rule):
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    assert len(rule["annotations"]["runbook"]) > 60
    assert not rule["annotations"]["summary"].endswith(".")


def test_panels_neither_overlap_nor_share_an_id():
    taken: dict[tuple[int, int], int] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert x < 24
                assert taken.setdefault((x, y), panel["id"]) == panel["id"]
    assert len(set(taken.values())) == len(DASHBOARD["panels"])


@pytest.mark.parametrize("panel", [p for p in DASHBOARD["panels"] if p["type"] != "row"])
def test_a_panel_says_what_it_shows_and_asks_the_chosen_source(panel):
    assert panel["description"].endswith(".")
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    assert {t["datasource"]["uid"] for t in panel["targets"]} == {"${datasource}"}


def test_the_image_has_the_user_that_the_pod_asks_for():
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    user = VALUES["podSecurityContext"]
    assert f"\nUSER {user['runAsUser']}:{user['runAsGroup']}\n" in dockerfile


def test_the_image_builds_from_what_the_wheel_needs():
    """A file that the build includes by name must get past .dockerignore."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["force-include"], *(name.split("/")[0] for name in wheel["packages"])}
    needed |= {project["project"]["readme"], *project["project"]["license-files"]}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert [name for name in needed if f"!{name}" not in ignored] == []
    assert [
        name for name in needed if not re.search(rf"^COPY .*\b{name}\b", dockerfile, re.M)
    ] == []


@pytest.mark.parametrize("dockerfile", ["Dockerfile", "Dockerfile.planner"])
def test_what_a_dockerfile_copies_is_there_and_gets_past_dockerignore(dockerfile):
    """Nothing else is sent to who builds: he would end with `not found`."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    text = (ROOT / dockerfile).read_text(encoding="utf-8")
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    copied = [source for line in copies for source in line.split()]
    assert {"requirements/core.txt", "pyproject.toml", "operator"} <= {*copied}
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert [source for source in copied if f"!{source}" not in ignored] == []


def _schemas(path: str, schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema within a schema, with its place."""
    yield path, schema
    for key in ("properties", "$defs"):
        for name, inner in schema.get(key, {}).items():
            yield from _schemas(f"{path}.{key}.{name}", inner)
    if isinstance(schema.get("items"), dict):
        yield from _schemas(f"{path}.items", schema["items"])


def _leaves(prefix: str, values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}"


def _parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def _panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def _metrics(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:poolkeeper|process)_\w+", expression))


def _known_metrics() -> set[str]:
    """What the process serves: declared families, and the samples that histograms become."""
    text = Metrics().page()[0].decode()
    declared = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    histograms = {name for name, kind in declared.items() if kind == "histogram"}
    return set(declared) | {
        f"{name}_{end}" for name in histograms for end in ("bucket", "count", "sum")
    }
