"""What becomes of partitions when brokers are lost: one row for each way it can go."""

import pytest

from builders import cluster, partition, topic
from poolkeeper.model.topology import Broker, Controller, Partition
from poolkeeper.studies.broker_loss import LossAssumptions, PartitionFate, lose
from poolkeeper.studies.loss_settings import LossSettings, SettingSource, settings_of

TWO = {"min.insync.replicas": "2"}
UNCLEAN = {"unclean.leader.election.enable": "true"}
NOBODY: None = None


@pytest.mark.parametrize(
    ("before", "config", "lost", "expected"),
    [
        pytest.param(
            partition(0, 1, 2, 3),
            {},
            [1],
            (PartitionFate.ELECTED, 2, (2, 3), False, NOBODY),
            id="the next in the assignment leads",
        ),
        pytest.param(
            partition(0, 1, 2, 3, isr=(3, 1)),
            {},
            [1],
            (PartitionFate.ELECTED, 3, (3,), False, NOBODY),
            id="who is not in sync is passed over",
        ),
        pytest.param(
            partition(0, 1, 2, 3, leader=3, isr=(1, 2, 3)),
            TWO,
            [1, 2],
            (PartitionFate.KEPT, 3, (3,), True, NOBODY),
            id="followers lost, too few in sync",
        ),
        pytest.param(
            partition(0, 1, 2),
            TWO,
            [2],
            (PartitionFate.KEPT, 1, (1,), True, NOBODY),
            id="one follower lost of two that are needed",
        ),
        pytest.param(
            partition(0, 1, 2, 3, isr=(1,)),
            {},
            [1],
            (PartitionFate.OFFLINE, -1, (1,), True, 2),
            id="only an unclean election would help",
        ),
        pytest.param(
            partition(0, 1, 2, 3, isr=(1,)),
            UNCLEAN,
            [1],
            (PartitionFate.UNCLEAN, 2, (2,), False, NOBODY),
            id="an unclean election is allowed",
        ),
        pytest.param(
            partition(0, 1, 2, 3, isr=(1, 3)),
            UNCLEAN,
            [1],
            (PartitionFate.ELECTED, 3, (3,), False, NOBODY),
            id="it is allowed and not needed",
        ),
        pytest.param(
            partition(0, 1, 2),
            UNCLEAN,
            [1, 2],
            (PartitionFate.OFFLINE, -1, (1, 2), True, NOBODY),
            id="nothing helps",
        ),
        pytest.param(
            partition(0, 1, 2, 3, leader=None, isr=None),
            {},
            [1],
            (PartitionFate.ELECTED, 2, (2, 3), False, NOBODY),
            id="an unknown state counts as healthy",
        ),
        pytest.param(
            partition(0, 1, 2, leader=-1, isr=()),
            {},
            [1],
            (PartitionFate.OFFLINE, -1, (), True, 2),
            id="nobody is in sync, which is known",
        ),
    ],
)
def test_a_partition(
    before: Partition, config: dict[str, str], lost: list[int], expected: tuple[object, ...]
) -> None:
    seen = cluster((1, 2, 3, 4), topic("t", before, config=config))
    (after,) = lose(seen, lost, settings_of(seen)).partitions
    assert (after.fate, after.leader, after.isr, after.below_min_isr, after.rescuer) == expected


@pytest.mark.parametrize(("config", "fate"), [({}, "rescued"), (UNCLEAN, "elected")])
def test_nobody_elects_a_replica_in_a_log_directory_that_failed(config, fate) -> None:
    """As broker 3 lives, and holds another directory; replica 2 is whole."""
    brokers = [Broker(1), Broker(2), Broker(3, failed_log_dirs={"/d1": "storage error"})]
    held = partition(0, 3, 1, 2, isr=(1,), leader=1, log_dirs={1: "/d0", 2: "/d0"})
    seen = cluster(brokers, topic("t", held, config=config))
    (after,) = lose(seen, [1], settings_of(seen)).partitions
    assert (after.rescuer, after.leader) == ((2, -1) if fate == "rescued" else (None, 2))
    alone = partition(0, 3, 1, isr=(1,), leader=1, log_dirs={1: "/d0"})
    seen = cluster(brokers, topic("t", alone, config=config))
    (after,) = lose(seen, [1], settings_of(seen)).partitions
    assert (after.fate, after.rescuer, after.leader) == (PartitionFate.OFFLINE, None, -1)


@pytest.mark.parametrize(
    ("before", "config", "lost", "pause_s"),
    [
        pytest.param(partition(0, 1, 2), {}, [1], 6.0, id="another one leads"),
        pytest.param(partition(0, 1, 2, isr=(1,)), UNCLEAN, [1], 6.0, id="an unclean one leads"),
        pytest.param(partition(0, 1, 2), {}, [2], 0.0, id="a follower is lost"),
        pytest.param(partition(0, 1, 2), {}, [4], 0.0, id="a broker without replicas is lost"),
        pytest.param(partition(0, 1, 2, isr=(1,)), {}, [1], None, id="the next one is not in sync"),
        pytest.param(partition(0, 1, 2), UNCLEAN, [1, 2], None, id="there is no next one"),
        pytest.param(
            partition(0, 1, 9, leader=-1, isr=(9,)), {}, [1], 0.0, id="there was none before"
        ),
        pytest.param(
            partition(0, 1, 2, leader=-1, isr=(2,)), {}, [1], 6.0, id="nor was one elected yet"
        ),
    ],
)
def test_how_long_a_leader_is_missing(
    before: Partition, config: dict[str, str], lost: list[int], pause_s: float | None
) -> None:
    seen = cluster((1, 2, 3, 4), topic("t", before, config=config), kafka_version="2.2")
    (times,) = lose(seen, lost, settings_of(seen)).times
    assert times.pause_s == (None if pause_s is None else pytest.approx(pause_s, abs=0.01))


def test_a_leader_is_missing_as_long_as_an_election_takes_where_one_of_two_has_no_next() -> None:
    seen = cluster((1, 2), topic("t", (1, 2), (1,)), kafka_version="2.2")
    (times,) = lose(seen, [1], settings_of(seen)).times
    assert times.pause_s == pytest.approx(6.0, abs=0.01)


def test_what_is_not_touched_is_not_listed() -> None:
    seen = cluster((1, 2, 3), topic("t", (1, 2), (2, 3)), topic("u", (1,)), deleting={"u"})
    study = lose(seen, [1], settings_of(seen))
    assert [str(each.name) for each in study.partitions] == ["t-0"]
    assert study.total == 2


def test_what_was_offline_before_is_told_apart() -> None:
    offline = partition(0, 1, 9, leader=-1, isr=(9,))
    study = lose(cluster((1, 2), topic("t", offline)), [1], LossSettings())
    (after,) = study.partitions
    assert (after.was_offline, after.was_below, after.fate) == (True, True, PartitionFate.OFFLINE)
    assert study.of_fate(PartitionFate.OFFLINE) == study.newly_below == ()


def test_what_each_broker_leads_then() -> None:
    seen = cluster(
        {1: "a", 2: "b", 3: None},
        topic("t", (1, 2), (1, 3), (2, 1), in_bytes_per_s=100.0),
        topic("u", (1, 3)),
    )
    study = lose(seen, [1], settings_of(seen))
    shown = [(each.broker, each.rack, each.leaders_before, each.leaders) for each in study.loads]
    assert shown == [(2, "b", 1, 2), (3, None, 0, 2)]
    rates = [
        (each.in_bytes_per_s_before, each.in_bytes_per_s, each.unknown) for each in study.loads
    ]
    assert rates == [(100.0, 200.0, 0), (0.0, 100.0, 1)]


@pytest.mark.parametrize(
    ("own", "dynamic", "told", "expected"),
    [
        pytest.param({}, {}, {}, 1, id="Kafka's default"),
        pytest.param({}, {"min.insync.replicas": "2"}, {}, 2, id="a broker's dynamic config"),
        pytest.param({}, TWO, {"min.insync.replicas": "3"}, 3, id="what a broker says itself"),
        pytest.param(TWO, {}, {"min.insync.replicas": "3"}, 2, id="the topic's own"),
        pytest.param({"min.insync.replicas": "x"}, {}, TWO, 2, id="no number counts as none"),
    ],
)
def test_whose_min_isr_counts(
    own: dict[str, str], dynamic: dict[str, str], told: dict[str, str], expected: int
) -> None:
    seen = cluster([Broker(1, config=dynamic)], topic("t", (1,), config=own))
    assert settings_of(seen, told).min_isr(seen.topics["t"])[0] == expected


def test_what_a_broker_said_when_a_snapshot_was_taken_is_no_assumption() -> None:
    seen = cluster([Broker(1, min_insync=2)], topic("t", (1,)))
    assert settings_of(seen).min_isr(seen.topics["t"]) == (2, SettingSource.BROKER)


@pytest.mark.parametrize(
    ("version", "unclean", "timeout_s"),
    [
        *(("0.10.2", True, 6.0), ("0.11.0", False, 6.0), ("2.4", False, 6.0), ("2.5", False, 18.0)),
        *(("3.9.2", False, 18.0), (None, False, 18.0), ("0.10.1 to 2.3", False, 6.0)),
    ],
)
def test_defaults_of_releases(version: str | None, unclean: bool, timeout_s: float) -> None:
    seen = cluster((1,), topic("t", (1,)), kafka_version=version)
    settings = settings_of(seen)
    found = settings.unclean(seen.topics["t"])[0], settings.session_timeout_s
    assert found == (unclean, timeout_s)


def test_what_was_not_known_is_counted() -> None:
    seen = cluster(
        (1, 2),
        topic("t", (1, 2), config=TWO | UNCLEAN),
        topic("u", (1, 2), config=None, isr=None),
    )
    assert lose(seen, [1], settings_of(seen)).assumptions == LossAssumptions(1, 1, 1, 1)
    told = settings_of(seen, TWO | UNCLEAN)
    assert lose(seen, [1], told).assumptions == LossAssumptions(1, 0, 0, 1)


@pytest.mark.parametrize(
    ("controller", "lost"), [(Controller(), None), (Controller(1), True), (Controller(2), False)]
)
def test_whether_the_controller_is_lost(controller: Controller, lost: bool | None) -> None:
    seen = cluster((1, 2), topic("t", (1, 2)), controller=controller)
    assert lose(seen, [1], settings_of(seen)).controller_lost is lost
