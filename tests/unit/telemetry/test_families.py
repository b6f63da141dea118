"""The metrics' names follow Prometheus' conventions, and the documentation names them all."""

import re
from pathlib import Path

import pytest

from poolkeeper.telemetry.families import FAMILIES, Family, Type

DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics.md"
LABELS = {
    *("cluster", "phase", "kind", "verb", "ready", "version"),
    *("reason", "engine", "outcome"),
}
UNITS_THAT_ARE_NO_BASE_UNITS = re.compile(
    r"_(milli|micro|nano)?(ms|us|ns|s|sec|secs|millis|minutes?|hours?|days?|kb|mb|gb|kib|mib|gib"
    r"|kilobytes|megabytes|milliseconds|microseconds|percent)(_|$)"
)


def lint(family: Family) -> list[str]:
    """What `promtool check metrics` and our own rules say against a family."""
    said = []
    if not re.fullmatch(r"poolkeeper(_[a-z]+)+", family.name):
        said.append("the name is not in lower case words")
    if (family.type is Type.COUNTER) != family.name.endswith("_total"):
        said.append("counters, and they alone, end in _total")
    if re.search(r"_(count|sum|bucket)$", family.name):
        said.append("the suffix belongs to histograms")
    if UNITS_THAT_ARE_NO_BASE_UNITS.search(family.name):
        said.append("the unit is no base unit")
    if (family.type is Type.HISTOGRAM) != bool(family.buckets):
        said.append("histograms, and they alone, have buckets")
    if family.type is Type.HISTOGRAM and not family.name.endswith("_seconds"):
        said.append("the histogram has no unit")
    if list(family.buckets) != sorted(set(family.buckets)):
        said.append("the buckets do not ascend")
    if not family.help.endswith(".") or "|" in family.help:
        said.append("the help is no sentence")
    if not set(family.labels) <= LABELS:
        said.append("a label is not among the few that are allowed")
    if f"_{family.type}" in family.name:
        said.append("the name holds the type")
    return said


@pytest.mark.parametrize("family", [pytest.param(f, id=f.name) for f in FAMILIES])
def test_a_metric_is_named_as_prometheus_wants(family: Family) -> None:
    assert lint(family) == []


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        pytest.param(
            Family("poolkeeper_moves", Type.COUNTER, "Moves."),
            ["counters, and they alone, end in _total"],
            id="counter-without-total",
        ),
        pytest.param(
            Family("poolkeeper_lag_ms", Type.GAUGE, "Lag."),
            ["the unit is no base unit"],
            id="milliseconds",
        ),
        pytest.param(
            Family("poolkeeper_lag", Type.HISTOGRAM, "Lag.", ("topic",), (2, 1)),
            [
                "the histogram has no unit",
                "the buckets do not ascend",
                "a label is not among the few that are allowed",
            ],
            id="histogram-by-topic",
        ),
    ],
)
def test_the_rules_find_what_is_wrong(family: Family, expected: list[str]) -> None:
    assert lint(family) == expected


def test_names_are_unique() -> None:
    names = [family.name for family in FAMILIES]
    assert sorted(set(names)) == sorted(names)


def test_the_documentation_lists_every_metric_as_it_is(update_golden: bool) -> None:
    before, table, after = _around_table(DOCUMENT.read_text())
    if update_golden:
        DOCUMENT.write_text(before + as_markdown() + after)
        return
    assert table == as_markdown()


def as_markdown() -> str:
    rows = ["| metric | type | labels | what it tells |", "|---|---|---|---|"]
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        rows.append(f"| `{family.name}` | {family.type} | {labels} | {family.help} |")
    return "\n".join(rows) + "\n"


def _around_table(text: str) -> tuple[str, str, str]:
    found = re.search(r"^\| metric \|.*?\n(?!\|)", text, re.DOTALL | re.MULTILINE)
    assert found, "docs/metrics.md holds no table of metrics"
    return text[: found.start()], found.group(), text[found.end() :]
