"""Rows of what the API server takes of our kinds and what it refuses, in its own words.

A row is asked as a creation that happens nowhere. Our reader of folders, which has more words, must
come to the same verdict; where it does not, the row says why.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apirequests import Api, merged
from poolkeeper.resources.checks import cross_checks
from poolkeeper.resources.kinds.kafka_cluster import read_cluster
from poolkeeper.resources.kinds.rebalance import read_rebalance
from poolkeeper.resources.kinds.resource_pool import read_pool
from poolkeeper.resources.kinds.topic import read_topic

SIZE = "in body should match '^[0-9]+([.][0-9]+)?(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E|[eE][0-9]{1,2})?$'"
ITEM_SIZE = (
    "in body should match '^(0*[1-9][0-9]*([.][0-9]+)?|0+[.]0*[1-9][0-9]*)"
    "(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E|[eE][0-9]{1,2})?$'"
)
DURATION = "in body should match '^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?$'"
NO_TIME = "the duration is no time at all; write such as 45s, 30m or 1h30m"
OUT_OF_RANGE = "the size is out of range; write more than 0, and below 8Ei"
POLICIES = Path(__file__).parents[1] / "policies"
ANY = {"annotations": {"poolkeeper.dev/topic-prefixes": "*"}}
"""The metadata of a namespace whose Topics may have any name."""


def denial(policy, text):
    """What the server says when a policy refuses, after the resource's name."""
    name = f"poolkeeper-{policy}"
    return f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {text}"


@dataclass(frozen=True)
class Row:
    """`spec` is merged into the base; no refusals: the server takes it."""

    base: dict[str, Any]
    spec: dict[str, Any]
    refusals: tuple[str, ...]
    offline_differs: str

    @property
    def body(self) -> dict[str, Any]:
        """The whole resource."""
        found: dict[str, Any] = merged(self.base, {"spec": self.spec})
        return found


def row(
    base: dict[str, Any], name: str, spec: dict[str, Any], *refusals: str, offline_differs: str = ""
) -> Any:
    """A row as a parameter. Each refusal is `field: what the server says of it`, in their order."""
    return pytest.param(Row(base, spec, refusals, offline_differs), id=name.replace(" ", "-"))


def at_least(bound: float, field: str) -> str:
    """The refusal of a number below the bound."""
    return f"{field}: {field} in body should be greater than or equal to {bound}"


def at_most(bound: float, field: str) -> str:
    """The refusal of a number above the bound."""
    return f"{field}: {field} in body should be less than or equal to {bound}"


def matching(operator: str, *values: str) -> dict[str, Any]:
    """A label selector over the label `team`."""
    found = {"values": list(values)} if values else {}
    return {"selector": {"matchExpressions": [{"key": "team", "operator": operator} | found]}}


def ask_server(api: Api, row: Row) -> None:
    """Hold the server's answer against the row."""
    answer = api.dry_create(row.body)
    assert answer.refusals() == list(row.refusals)
    assert answer.status == (422 if row.refusals else 201)


def ask_reader(row: Row) -> None:
    """Hold our reader's verdict against the server's."""
    refused = bool(row.refusals) != bool(row.offline_differs)
    assert bool(_problems(row.body)) == refused


def _problems(body: dict[str, Any]) -> list[str]:
    match body["kind"]:
        case "KafkaCluster":
            return [str(problem) for problem in read_cluster(body).problems]
        case "ResourcePool":
            return [str(problem) for problem in read_pool(body).problems]
        case "Rebalance":
            return [str(problem) for problem in read_rebalance(body).problems]
    reading = read_topic(body)
    configs = cross_checks.configs(cross_checks.Readings(topics=(reading,)))
    return [str(problem) for problem in (*reading.problems, *configs)]
