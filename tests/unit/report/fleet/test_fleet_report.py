import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.report import balance
from poolkeeper.report.fleet.differences import differences
from poolkeeper.report.fleet.fleet_report import fleet_markdown, fleet_page
from poolkeeper.report.html.markup import clean
from poolkeeper.report.markdown import COMMENT_MAX
from poolkeeper.report.values import ClusterDay, FleetReport, Gap, Measured, Missing, Skew
from unit.report import fleets
from unit.report.fleets import holding, small

HOSTILE = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["</svg><script>", "a|b", "![x](y)", "@all", "\n# x", "\u202e", "\ud800", "<!--", "`", "\\"]
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


def test_a_budget_is_missed_where_something_moves_and_none_was_made():
    moving, told = small(), "There is no budget"
    still = replace(moving, clusters=[replace(each, moves=0) for each in moving.clusters])
    assert moving.timeline is not None
    left_out = replace(moving.timeline, bars=())
    for report, is_missed in (
        (replace(moving, timeline=None), True),
        (replace(moving, timeline=left_out), False),
        (replace(still, timeline=left_out), False),
        (replace(still, timeline=None), False),
    ):
        assert (told in fleet_markdown(report)) == is_missed


@pytest.mark.parametrize(
    ("moves", "steps", "destructive", "told"),
    [
        (0, 0, 0, "nothing to do"),
        (0, 3, 0, "nobody has to: nothing moves, and no data goes"),
        (0, 3, 1, "kubectl poolkeeper approve --cluster main --plan "),
        (2, 0, 0, "kubectl poolkeeper approve --cluster main --plan "),
    ],
)
def test_the_line_that_approves_stands_where_somebody_has_to(moves, steps, destructive, told):
    one = replace(fleets.cluster("main"), moves=moves, steps=steps, destructive=destructive)
    written = fleet_markdown(replace(small(), clusters=[one]))
    (row,) = (
        line
        for line in written.splitlines()
        if line.startswith("| `main` | `north` | 2026-03-01 22:00 | ")
    )
    assert told in row


def test_the_page_of_a_damaged_plan_is_missed_although_the_plan_is_there(read_page):
    report = replace(small(), missing=(Missing(Gap.DAMAGED, "main", "moves: cut off"),))
    told = "a table of it cannot be read: moves: cut off"
    assert told in read_page(fleet_page(report)).text


@pytest.mark.parametrize(
    ("before", "told"),
    [
        pytest.param(ClusterDay("main", 90, 4, True), "+10 partitions, +5 B;", id="known"),
        pytest.param(ClusterDay("main", 90), "Bytes are without 1 cluster of which", id="no-plan"),
        pytest.param(ClusterDay("main"), "Bytes are without 1 cluster of which", id="not-read"),
    ],
)
def test_a_change_of_bytes_says_what_it_is_without(before: ClusterDay, told: str) -> None:
    changed = differences("2026-02-28", [before], [ClusterDay("main", 100, 9, True)])
    page = fleet_markdown(replace(small(), differences=changed))
    assert told in page
    assert (before.held is None) == ("Bytes are without" in page)


def test_the_order_of_clusters_does_not_matter():
    report = small()
    turned = replace(
        report,
        clusters=report.clusters[::-1],
        snapshots=report.snapshots[::-1],
        pools=report.pools[::-1],
        brokers=report.brokers[::-1],
        hottest=report.hottest[::-1],
        skews=report.skews[::-1],
        missing=report.missing[::-1],
    )
    assert fleet_page(turned) == fleet_page(report)
    assert fleet_markdown(turned) == fleet_markdown(report)


@pytest.mark.slow
@examples(18, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE, HOSTILE)
def test_hostile_names_stay_text(read_page, read_markdown, name, said):
    report = small(name, said)
    assert clean(name) in read_page(fleet_page(report)).text
    text = read_markdown(fleet_markdown(report)).text
    assert " ".join(clean(name).split()) in " ".join(text.split())


@pytest.mark.slow
def test_of_what_there_is_too_much_the_page_says_how_much_it_leaves_out(read_page):
    text = read_page(fleet_page(fleets.many(60))).text
    assert "and 30 more pools" in text
    assert "and 20 more lanes" in text


@pytest.mark.slow
def test_a_thousand_clusters_are_two_megabytes_with_a_row_for_each():
    report = fleets.many(1000)
    page = fleet_page(report)
    assert len(page) < 2_500_000
    text = re.sub("<[^>]+>", "\n", page)
    for cut in ("and 970 more pools", "and 20 more lanes"):
        assert cut in text
    # When it moves, what changed, its snapshot, its pool.
    assert text.count("cluster-0999") >= 4
    assert len(fleet_markdown(report)) <= COMMENT_MAX


def test_the_share_of_the_broker_with_the_most_is_no_rounded_number():
    skewed = Skew("main", "p", Measured.REPLICAS, 2, 18, 16.5)
    page = fleet_markdown(replace(small(), skews=(skewed,)))
    assert "| replicas | 2 | 18 | 16.5 | 1.09 |" in page


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
