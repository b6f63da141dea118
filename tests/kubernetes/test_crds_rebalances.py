"""Rebalances, as the API server and our reader judge them, and what of one may change when."""

import secrets

import pytest

from admission import (
    DURATION,
    ITEM_SIZE,
    NO_TIME,
    OUT_OF_RANGE,
    SIZE,
    ask_reader,
    ask_server,
    at_least,
    matching,
    row,
)
from apirequests import merged
from manifests import REBALANCE

HASH = f"sha256:{'1' * 64}"
ONE_WAY = "write either names or a selector, or leave it out"
CLUSTERS = "spec.clusters stays as it is once plans are executed; make another Rebalance"
POOLS = "spec.pools stays as it is once plans are executed; make another Rebalance"
REST = (
    "spec.engine and spec.budget stay as they are once plans are executed; make another Rebalance"
)


def rebalance(name, spec, *refusals, **more):
    return row(REBALANCE, name, spec, *refusals, **more)


def labels(operator, *values):
    return {"clusters": matching(operator, *values)}


def windows(**window):
    return {"budget": {"windows": [{"cron": "0 22 * * *", "duration": "8h", **window}]}}


def site(rate):
    return {"budget": {"sites": [{"name": "x", "clusters": ["a"], "rate": rate}]}}


ROWS = [
    rebalance("nothing but a name", {}),
    rebalance(
        "everything",
        {
            "clusters": {"names": ["a", "b"]},
            "pools": {"selector": {"matchLabels": {"tier": "fast"}}},
            "engine": "Spark",
            "approval": {"policy": "Manual", "plans": [HASH]},
            "budget": {
                "rate": "1Gi",
                "clustersAtOnce": 3,
                "sites": [{"name": "x", "clusters": ["a"], "rate": 1000}],
                "windows": [
                    {"cron": "0 22 * * *", "duration": "8h", "timeZone": "UTC", "rate": "2Gi"}
                ],
            },
            "paused": True,
        },
    ),
    rebalance(
        "names and a selector",
        {"clusters": {"names": ["a"], "selector": {}}},
        f"spec.clusters: {ONE_WAY}",
    ),
    rebalance("neither of both", {"pools": {}}, f"spec.pools: {ONE_WAY}"),
    rebalance(
        "no names at all",
        {"clusters": {"names": []}},
        "spec.clusters.names: spec.clusters.names in body should have at least 1 items",
    ),
    rebalance(
        "a name twice",
        {"clusters": {"names": ["a", "a"]}},
        'spec.clusters.names[1]: Duplicate value: "a"',
    ),
    *(
        rebalance(
            f"a selector that says {words[0]} and {len(words) - 1} values",
            labels(*words),
            "spec.clusters.selector.matchExpressions[0]: "
            "In and NotIn need values, Exists and DoesNotExist take none",
        )
        for words in (("In",), ("Exists", "a"))
    ),
    rebalance(
        "an engine that nobody has",
        {"engine": "Flink"},
        'spec.engine: supported values: "Auto", "Local", "Spark"',
    ),
    rebalance(
        "an approval of what is no plan",
        {"approval": {"plans": ["yes"]}},
        "spec.approval.plans[0]: spec.approval.plans[0] in body should match"
        " '^sha256:[0-9a-f]{64}$'",
    ),
    rebalance("a rate of nothing", {"budget": {"rate": 0}}, f"spec.budget.rate: {OUT_OF_RANGE}"),
    rebalance(
        "a rate that is no size",
        {"budget": {"rate": "fast"}},
        f"spec.budget.rate: spec.budget.rate {SIZE}",
    ),
    *(
        rebalance(f"the rate {rate!r} of a site", site(rate))
        for rate in (1, "1", "0.5Ki", "00.010Mi", "010", "1.5Gi", "1e6", "7Ei")
    ),
    rebalance("no rate of a site", site(0), at_least(1, "spec.budget.sites[0].rate")),
    *(
        rebalance(
            f"the rate {rate!r} of a site",
            site(rate),
            f"spec.budget.sites[0].rate: spec.budget.sites[0].rate {ITEM_SIZE}",
        )
        for rate in ("0", "0.0Ki", "00e9", "fast", "100m")
    ),
    rebalance(
        "a rate of a site that no integer holds",
        site("8Ei"),
        offline_differs="a rule on sizes in a list costs more than Kubernetes 1.30 permits",
    ),
    rebalance("no rate in a window", windows(rate=0), at_least(1, "spec.budget.windows[0].rate")),
    rebalance(
        "no cluster at once",
        {"budget": {"clustersAtOnce": 0}},
        at_least(1, "spec.budget.clustersAtOnce"),
    ),
    rebalance(
        "a site twice",
        {"budget": {"sites": [{"name": "x", "clusters": [c]} for c in "ab"]}},
        'spec.budget.sites[1]: Duplicate value: {"name":"x"}',
    ),
    rebalance(
        "a cluster in two sites",
        {"budget": {"sites": [{"name": n, "clusters": ["a"]} for n in "xy"]}},
        offline_differs="lists of lists against each other cost more than a rule may",
    ),
    rebalance(
        "a window of four fields",
        windows(cron="0 22 * *"),
        "spec.budget.windows[0].cron: cron has five fields, minute hour day month weekday",
    ),
    rebalance(
        "a window of no time",
        windows(duration="0h"),
        f"spec.budget.windows[0].duration: {NO_TIME}",
    ),
    rebalance(
        "a window of days",
        windows(duration="2d"),
        f"spec.budget.windows[0].duration: spec.budget.windows[0].duration {DURATION}",
    ),
]


@pytest.fixture
def made(api):
    """Makes a Rebalance of some scope, and how far it is; it is gone afterwards."""
    bodies = []

    def make(step):
        spec = {"clusters": {"names": ["a", "b"]}}
        name = f"evening-{secrets.token_hex(4)}"
        bodies.append(api.create(merged(REBALANCE, {"metadata": {"name": name}, "spec": spec})))
        if step:
            assert api.set_status(bodies[-1], {"step": step}).status == 200
        return bodies[-1]

    yield make
    for body in bodies:
        api.delete(body)


@pytest.mark.parametrize("row", ROWS)
def test_creations(api, row):
    ask_server(api, row)


@pytest.mark.parametrize("row", ROWS)
def test_our_reader_comes_to_the_same_verdict(row):
    ask_reader(row)


CHANGES = {
    "another scope": ({"clusters": {"names": ["a"]}}, CLUSTERS),
    "all clusters": ({"clusters": None}, CLUSTERS),
    "other pools": ({"pools": {"names": ["p"]}}, POOLS),
    "another engine": (
        {"engine": "Local"},
        REST,
    ),
    "another budget": (
        {"budget": {"clustersAtOnce": 1}},
        REST,
    ),
}


@pytest.mark.parametrize("step", ["Executing", "Succeeded", "Failed"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_executed_stays_as_it_is(api, made, change, step):
    spec, refusal = CHANGES[change]
    answer = api.patch(made(step), {"spec": spec}, dryRun="All")
    assert [said.rpartition(": ")[2] for said in answer.refusals()] == [refusal]


@pytest.mark.parametrize("step", ["", "Planning", "WaitingForApproval"])
@pytest.mark.parametrize("change", CHANGES)
def test_until_then_all_of_it_may_change(api, made, change, step):
    spec, _ = CHANGES[change]
    assert api.patch(made(step), {"spec": spec}, dryRun="All").refusals() == []


@pytest.mark.parametrize("spec", [{"paused": True}, {"approval": {"plans": [HASH]}}], ids=str)
def test_a_pause_and_an_approval_are_always_taken(api, made, spec):
    assert api.patch(made("Executing"), {"spec": spec}, dryRun="All").refusals() == []


def test_what_nobody_has_looked_at_is_told_as_such(api, made):
    assert api.get(made(""))["status"] == {"observedGeneration": -1}
