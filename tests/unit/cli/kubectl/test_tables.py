"""The tables of `kubectl poolkeeper`: bounded, and nothing is left out in silence."""

from poolkeeper.cli.kubectl import tables
from poolkeeper.cli.output.ink import PLAIN


def topic(number):
    return {"metadata": {"name": f"t{number}", "namespace": "shop"}, "spec": {}}


def test_topics_that_are_not_shown_are_counted():
    lines = tables.topics([topic(n) for n in range(tables.TOPICS_MAX + 2)], PLAIN)
    assert len(lines) == tables.TOPICS_MAX + 2
    assert lines[-1] == "  … and 2 more Topics"
    assert len(tables.topics([topic(0)], PLAIN)) == 2


def test_a_pool_tells_how_many_of_its_brokers_are_live():
    pool = {
        "metadata": {"name": "fast"},
        "spec": {"clusterRef": {"name": "main"}},
        "status": {"brokers": 3, "brokersUp": "2/3", "topics": 7},
    }
    assert tables.pools([pool], PLAIN)[1].split() == ["fast", "main", "Unknown", "2/3", "7"]


def test_large_numbers_of_a_cluster_are_written_as_those_of_a_run():
    plan = {"hash": "sha256:" + "ab" * 32, "moves": 1234567, "movesDone": 1000}
    body = {"metadata": {"name": "main"}, "spec": {}, "status": {"plan": plan}}
    assert tables.clusters([body], PLAIN)[1].endswith("  1,000 of 1,234,567")
