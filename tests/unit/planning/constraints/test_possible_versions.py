"""Which releases brokers may run: what they report, else what is declared and left in znodes."""

import pytest

import builders
from poolkeeper.model.topology import Broker
from poolkeeper.planning.constraints.topic_configs import possible_versions


@pytest.mark.parametrize(
    ("told", "traced", "counts", "declared", "possible"),
    [
        pytest.param(["3.9", "3.9"], "2.8 to 3.9", "3.9", None, "3.9", id="all-report-one-release"),
        pytest.param(
            ["2.0", "2.8"], "1.1 to 3.3", "2.0", None, "2.0 to 2.8", id="during-an-upgrade"
        ),
        pytest.param(
            ["3.9", "3.9"], "2.8 to 3.9", "2.0", "2.0", "3.9", id="a-declaration-that-is-wrong"
        ),
        pytest.param(
            ["2.0", None], "1.1 to 3.3", "2.0", None, "1.1 to 3.3", id="one-broker-is-silent"
        ),
        pytest.param(
            ["3.9", None], "1.1 to 3.3", "3.9", None, "1.1 to 3.9", id="silent-and-contradicted"
        ),
        pytest.param(
            ["2.0", None], None, "2.0", None, "0.10.1 to 3.9", id="one-is-silent-no-trace"
        ),
        pytest.param(
            ["2.0", None], "1.1 to 3.3", "2.1", "2.1", "2.0 to 2.1", id="silent-and-declared"
        ),
        pytest.param(
            [None, None], "1.1 to 3.3", "1.1 to 3.3", None, "1.1 to 3.3", id="nobody-is-asked"
        ),
        pytest.param(
            [None, None], "1.1 to 3.3", "2.0.1", "2.0.1", "2.0.1", id="declared-and-believable"
        ),
        pytest.param(
            [None, None], "3.4 to 3.9", "2.0", "2.0", "2.0 to 3.9", id="declared-against-the-znodes"
        ),
        pytest.param([None, None], None, "2.0", "2.0", "2.0", id="declared-and-no-trace"),
        pytest.param([None, None], None, None, None, "0.10.1 to 3.9", id="nothing-is-known"),
        pytest.param([None], None, "2.8", None, "2.8", id="a-snapshot-that-knows-it"),
        pytest.param([None], None, "3.9", "2.0", "2.0 to 3.9", id="a-snapshot-against-a-manifest"),
        pytest.param([], None, "what?", None, "0.10.1 to 3.9", id="a-version-that-is-none"),
        pytest.param(["4.1"], None, None, None, "4.1", id="reported-and-not-supported"),
    ],
)
def test_the_releases_that_brokers_may_run(told, traced, counts, declared, possible):
    brokers = [Broker(n, release=release) for n, release in enumerate(told)]
    cluster = builders.cluster(brokers, kafka_version=counts, traced_version=traced)
    assert str(possible_versions(cluster, declared)) == possible
