from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.plans import PlanProblem, PoolCertificate
from poolkeeper.model.problems import Recorded
from poolkeeper.report import balance
from poolkeeper.report.fleet_report import fleet_markdown, fleet_page
from poolkeeper.report.html.markup import clean
from poolkeeper.report.markdown import COMMENT_MAX
from poolkeeper.report.values import (
    Bar,
    ClusterReport,
    FleetReport,
    Holding,
    Omitted,
    Timeline,
)

GIB = 2**30
BEGIN = datetime(2026, 3, 1, 22, tzinfo=UTC)
HOSTILE = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["</svg><script>", "a|b", "![x](y)", "@all", "\n# x", "\u202e", "\ud800", "<!--", "`", "\\"]
)


def holding(broker: int, rack: str | None, before: int, after: int, weight: float = 1.0) -> Holding:
    return Holding(
        *("fast", broker, rack, True, weight, before, after),
        *(before // 2, after // 2, before * GIB, after * GIB),
    )


def cluster(name: str, said: str = "") -> ClusterReport:
    return ClusterReport(
        name,
        "north",
        "",
        "sha256:" + "7" * 64,
        100,
        12,
        3,
        1,
        30 * GIB,
        (PoolCertificate("fast", 12, 11, 30 * GIB, 20 * GIB, 9.09, "broker 1 must lose 12"),),
        (PlanProblem("fast", "rack", Recorded(said or "one rack only"), "orders"),),
        (holding(1, "a", 12, 0, 0.0), holding(2, "a", 8, 14), holding(3, None, 8, 14)),
    )


def small(name: str = "main", said: str = "ZooKeeper did not answer within 30 s") -> FleetReport:
    return FleetReport(
        "2026-03-01",
        (cluster(name, said), cluster("other"), ClusterReport("away", "south", failed=said)),
        Timeline(
            BEGIN,
            (
                Bar(name, "north", 1, 2, 20 * GIB, 0, 3600, 0, 1),
                Bar("other", "north", 4, 1, 30 * GIB, 0, 5400, 1, 1),
                Bar(name, "north", 4, 1, 10 * GIB, 3600, 5400, 0, 2),
            ),
            (Omitted("other", 2, 5 * GIB, said),),
            5400,
            5000,
            "the fleet's rate",
            "10 MiB/s in all",
        ),
    )


def test_the_page_of_a_small_fleet(golden, read_page):
    written = fleet_page(small())
    read_page(written)
    golden("fleet.html", written)


def test_the_markdown_of_a_small_fleet(golden, read_markdown):
    written = fleet_markdown(small())
    read_markdown(written)
    golden("fleet.md", written)


def test_an_empty_fleet_has_a_page(read_page, read_markdown):
    nothing = FleetReport("2026-03-01")
    assert "Fleet of 0 clusters" in read_page(fleet_page(nothing)).text
    assert "Fleet of 0 clusters" in read_markdown(fleet_markdown(nothing)).text


def test_the_order_of_clusters_does_not_matter():
    report = small()
    turned = replace(report, clusters=report.clusters[::-1])
    assert fleet_page(turned) == fleet_page(report)
    assert fleet_markdown(turned) == fleet_markdown(report)


@examples(18, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE, HOSTILE)
def test_hostile_names_stay_text(read_page, read_markdown, name, said):
    report = small(name, said)
    assert clean(name) in read_page(fleet_page(report)).text
    text = read_markdown(fleet_markdown(report)).text
    assert " ".join(clean(name).split()) in " ".join(text.split())


def test_a_thousand_clusters_are_some_hundred_kilobytes(read_page):
    clusters = [cluster(f"cluster-{n:04d}") for n in range(1000)]
    bars = [
        Bar(f"cluster-{n:04d}", "north", n % 5, 1, GIB, n * 7.0, n * 7.0 + 100, n % 60, n // 60 + 1)
        for n in range(20_000)
    ]
    timeline = Timeline(BEGIN, bars, (), 350_100.0, 320_000.0, "the fleet's rate", "none")
    report = FleetReport("2026-03-01", clusters, timeline)
    page = fleet_page(report)
    assert len(page) < 1_500_000
    text = read_page(page).text
    for cut in ("and 970 more pools", "and 950 more clusters", "and 20 more lanes"):
        assert cut in text
    assert len(fleet_markdown(report)) <= COMMENT_MAX


IMBALANCES = [
    pytest.param([(5, 1.0), (5, 1.0)], 0.0, id="even"),
    pytest.param([(10, 1.0), (0, 1.0)], 0.5, id="all on one of two"),
    pytest.param([(4, 0.0), (6, 1.0)], 0.4, id="what is on a drained broker counts in full"),
    pytest.param([(9, 3.0), (3, 1.0)], 0.0, id="by weight"),
    pytest.param([(0, 1.0)], 0.0, id="nothing held"),
]


@pytest.mark.parametrize(("held", "expected"), IMBALANCES)
def test_imbalance_is_the_part_off_its_share(held, expected):
    brokers = [
        holding(number, "a", before, before, weight) for number, (before, weight) in enumerate(held)
    ]
    (pool,) = balance.pools_of("main", brokers)
    assert pool.imbalances[0] == (expected, expected)
