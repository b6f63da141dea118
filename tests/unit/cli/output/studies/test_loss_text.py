"""What is told of consumer groups when brokers are lost."""

import json
import re
from pathlib import Path

import pytest

from builders import cluster, partition, topic
from poolkeeper.algorithms.groups import ListedMember
from poolkeeper.cli.output.ink import PLAIN, Ink
from poolkeeper.cli.output.studies import loss_text
from poolkeeper.studies.broker_loss import lose
from poolkeeper.studies.group_coordinators import OFFSETS_TOPIC, ListedGroup, groups_after
from poolkeeper.studies.loss_settings import LossSettings, settings_of

PAGE = Path(__file__).parents[5] / "docs" / "whatif-lose.md"
BILLING = [
    ListedMember(f"billing-{n}-{n}0a1", f"billing-{n}", f"10.0.0.{7 + n}", None) for n in range(3)
]
WEB = ListedMember("web-9b1c6c0e-2f5d-4a53-8f43-0d6f8a2b7c11", "web", "10.0.0.8", "w1")
ALIKE = ListedMember("web-0a7c2b1d-77aa-4f0e-9d53-6a1b0c9d8e7f", "web", "10.0.0.6")
GROUPS = {
    "billing": ListedGroup((BILLING[2], *BILLING[:2]), BILLING[0].id),
    "idle": ListedGroup(()),
    "search": ListedGroup((WEB, ALIKE), WEB.id),
    "unknown": ListedGroup(),
}


@pytest.fixture
def told():
    offsets = topic(OFFSETS_TOPIC, partition(0, 1, 2))
    observed = cluster((1, 2, 3), offsets)
    settings = LossSettings({"zookeeper.session.timeout.ms": "6000"})

    def lost(broker: int, groups=GROUPS):
        study = lose(observed, [broker], settings)
        return study, groups_after(study, observed, groups)

    return lost


def shown(told, broker: int, groups=GROUPS, ink: Ink = PLAIN) -> str:
    return "\n".join(loss_text.lines(*told(broker, groups), ink)).split("Consumer groups\n")[1]


LED = """Who assigns the partitions of consumer groups
  GROUP    LED BY MEMBER                             ON        IF IT LEAVES                              ON
  billing  billing-0                                 10.0.0.7  billing-2                                 10.0.0.9
  search   web-9b1c6c0e-2f5d-4a53-8f43-0d6f8a2b7c11  10.0.0.8  web-0a7c2b1d-77aa-4f0e-9d53-6a1b0c9d8e7f  10.0.0.6
"""  # noqa: E501 - as wide as its names


def test_who_leads_groups_that_keep_their_coordinator(told) -> None:
    assert shown(told, 3).startswith(f"  4 groups: each keeps its coordinator\n\n{LED}")


def test_who_leads_groups_that_lose_their_coordinator(told) -> None:
    lines = shown(told, 1).splitlines()
    assert [line.split()[:4] for line in lines[:5]] == [
        ["GROUP", "MEMBERS", "COORDINATOR", "THEN"],
        ["billing", "3", "1", "2"],
        ["idle", "0", "1", "2"],
        ["search", "2", "1", "2"],
        ["unknown", "-", "1", "2"],
    ]
    assert "\n".join(lines[6:]).startswith(LED)


def test_nothing_is_said_where_nobody_knows_who_leads(told) -> None:
    assert "assigns" not in shown(told, 3, {"idle": ListedGroup(()), "x": ListedGroup((WEB,))})


def test_the_page_shows_it(told) -> None:
    alone = {"billing": GROUPS["billing"], "search": ListedGroup((WEB,), WEB.id)}
    page = PAGE.read_text(encoding="utf-8").replace("\n  ", "\n")
    table = shown(told, 3, alone).split("\n\n")[1]
    assert table in page


def test_a_terminal_of_80_columns_holds_it(told) -> None:
    lines = shown(told, 1, ink=Ink(width=80, terminal=True)).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("IF IT LEAVES" in line for line in lines)


def test_who_leads_as_json(told) -> None:
    data = json.loads(json.dumps(loss_text.as_data(*told(1))))
    leaders = {each["group"]: (each["leader"], each["nextLeader"]) for each in data["groups"]}
    assert {name for name, each in leaders.items() if each == (None, None)} == {"idle", "unknown"}
    now, then = leaders["search"]
    assert now == {"member": WEB.id, "client": "web", "host": "10.0.0.8", "instance": "w1"}
    assert then["member"] == ALIKE.id


def test_a_group_whose_commits_are_refused_is_told() -> None:
    offsets = topic(OFFSETS_TOPIC, partition(0, 1, 2), config={"min.insync.replicas": "2"})
    observed = cluster((1, 2, 3), offsets)
    study = lose(observed, [2], LossSettings())
    groups = groups_after(study, observed, {"g": ListedGroup()})
    told = "\n".join(loss_text.lines(study, groups, PLAIN))
    assert re.search(r"g +- +1 +1 +until min\.insync\.replicas are in sync\n", told)
    (data,) = loss_text.as_data(study, groups)["groups"]
    assert (data["fate"], data["waitSeconds"], data["refusesCommits"]) == ("kept", None, True)


@pytest.mark.parametrize(
    ("lost", "said", "seconds"),
    [
        pytest.param(1, "until one in sync is back", None, id="nobody can be elected"),
        pytest.param(3, "-", 0.0, id="no leader is lost"),
    ],
)
def test_no_time_is_told_of_elections_that_do_not_happen(lost, said, seconds) -> None:
    observed = cluster((1, 2, 3), topic("t", partition(0, 1, 2, isr=(1,))), kafka_version="3.9")
    study = lose(observed, [lost], settings_of(observed))
    (row,) = [line for line in loss_text.lines(study, (), PLAIN) if "pipelined" in line]
    assert re.split(r"  +", row.strip())[1] == said
    (estimate,) = loss_text.as_data(study, ())["estimates"]
    assert estimate["leaderMissingSeconds"] == seconds


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        pytest.param([(2, 1)], "of 1 partition, 1 has a replica there; each keeps its", id="one"),
        pytest.param([(2, 1)] * 2, "of 2 partitions, 2 have a replica there;", id="two"),
    ],
)
def test_one_partition_is_in_the_singular(parts, said) -> None:
    observed = cluster((1, 2), topic("t", *parts))
    first, *_ = loss_text.lines(lose(observed, [1], LossSettings()), (), Ink(width=200))
    assert said in first


def test_without_any_broker_leaders_are_missing_until_one_is_back() -> None:
    observed = cluster((1, 2), topic("t", partition(0, 1, 2)), kafka_version="3.9")
    study = lose(observed, [1, 2], settings_of(observed))
    text = "\n".join(loss_text.lines(study, (), PLAIN))
    (row,) = [line for line in text.splitlines() if "pipelined" in line]
    assert re.split(r"  +", row.strip())[1:3] == ["until a broker is back", "-"]
    (estimate,) = loss_text.as_data(study, ())["estimates"]
    assert estimate["leaderMissingSeconds"] is None


def test_a_row_for_each_of_many_brokers_is_not_written() -> None:
    partitions = [partition(n, n + 1, n + 2) for n in range(60)]
    observed = cluster(range(1, 62), topic("t", *partitions))
    study = lose(observed, range(1, 31), LossSettings({}))
    lines = list(loss_text.lines(study, (), PLAIN))
    begin = lines.index("What brokers lead, those first that get most")
    assert lines[begin + 2].split() == ["31", "-", "1", "2"]
    assert lines[begin + 22] == "  … and 11 more brokers"
    assert lines[0].startswith("Without brokers 1, 2, ")
    assert "19, 20, and 10 more: of 60 partitions" in " ".join(lines)
    assert len(loss_text.as_data(study, ())["brokers"]) == 31
