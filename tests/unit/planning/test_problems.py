"""Facts of problems: every kind has a reason and a sentence, and reasons are stable."""

import inspect
from dataclasses import FrozenInstanceError

import pytest

from poolkeeper.model import problems
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.facts import (
    balance,
    capacity,
    health,
    log_dirs,
    new_partitions,
    pools,
    records,
    topic_owners,
    topics,
)
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.proposals import plan_json

ROOMS = (topics, topic_owners, new_partitions, pools, capacity, balance, log_dirs, records, health)
FACTS = {
    kind
    for room in ROOMS
    for _, kind in inspect.getmembers(room, inspect.isclass)
    if kind.__module__ == room.__name__ and hasattr(kind, "reason")
}


def test_reasons_are_those_that_scripts_know() -> None:
    assert [reason.value for reason in ProblemReason] == [
        "LeftOut",
        "Untouched",
        "AwaitsRoom",
        "AwaitsMoves",
        "AwaitsKafka",
        "AwaitsReplicas",
        "AwaitsPartitions",
        "NoStage",
        "TopicConflict",
        "AdoptionRequired",
        "AdoptionRefused",
        "NameNotAllowed",
        "SeveralPoolsClaim",
        "BrokersInSeveralPools",
        "PoolUnavailable",
        "TopicHeld",
        "NamespaceNotWatched",
        "NoDefaultPool",
        "NamespaceNotAdmitted",
        "IllegalName",
        "MetricNameTaken",
        "RecordDamaged",
        "InternalTopic",
        "PartitionsUndeclared",
        "ReplicationFactorUndeclared",
        "PartitionsNeverShrink",
        "KeysWouldMove",
        "InvalidAssignment",
        "PinnedBrokersUnusable",
        "InvalidConfig",
        "ConfigRefused",
        "ConfigKeyUnknownToSome",
        "QuotaExceeded",
        "LimitExceeded",
        "LimitWarned",
        "TooFewBrokers",
        "TooFewRacks",
        "RacksAsFound",
        "RacksIncomplete",
        "RacksContradicted",
        "CapacityExceeded",
        "HeadroomExceeded",
        "TopicTooLarge",
        "PartitionTooLarge",
        "FactorNotRaised",
        "Unlawful",
        "UncleanElection",
        "HealHeld",
        "DataLost",
        "NoSource",
        "LogDirFailed",
        "LogDirsUnknown",
        "NoSuchLogDir",
        "BrokerNotEmptied",
        "LogDirNotEmptied",
        "NoController",
        "BrokersMissing",
        "NoLiveBroker",
        "TooFewLiveBrokers",
        "PartitionsOffline",
        "ElectionPending",
        "UnderMinIsr",
        "UnderReplicated",
        "MinIsrUnreachable",
        "DiskFull",
        "TopicsDamaged",
        "ControllerEpochBehind",
        "DemotedBrokerLeads",
        "RatesUnknown",
        "BalanceHeld",
        "GainTooSmall",
        "GoalNotMet",
        "Untold",
    ]


def test_every_reason_is_explained_and_some_facts_have_it() -> None:
    source = inspect.getsource(ProblemReason)
    assert source.count('"""') == 2 * (len(ProblemReason) + 1)
    rooms = "".join(map(inspect.getsource, ROOMS))
    unused = {reason for reason in ProblemReason if f"ProblemReason.{reason.name}" not in rooms}
    assert unused == {ProblemReason.UNTOLD}


@pytest.mark.parametrize("kind", sorted(FACTS, key=lambda kind: kind.__name__))
def test_facts_are_values_with_a_sentence_of_their_own(kind: type[problems.Facts]) -> None:
    with pytest.raises(FrozenInstanceError):
        kind.__new__(kind).reason = None
    assert "__str__" in vars(kind)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        pytest.param({"reason": "QuotaExceeded"}, ProblemReason.QUOTA_EXCEEDED, id="known"),
        pytest.param({"reason": "OfANewerRelease"}, ProblemReason.UNTOLD, id="unknown"),
        pytest.param({}, ProblemReason.UNTOLD, id="of an older release"),
    ],
)
def test_a_document_may_tell_the_reason(told: dict[str, str], reason: ProblemReason) -> None:
    problem = {"pool": "p", "law": "quotas", "message": "said", **told}
    whole = {"version": 1, "cluster": "c", "hash": plan_json.plan_hash((), ()), "fingerprint": "f"}
    (found,) = plan_json.from_json({**whole, "problems": [problem]}).problems
    assert (found.reason, found.message) == (reason, "said")


@pytest.mark.parametrize(
    ("names", "text"),
    [([1, 2], "1, 2"), ([*"abcdefg"], "a, b, c, d, e and 2 more"), (range(1_500), "0, 1, 2")],
)
def test_long_lists_are_cut_and_counted(names, text: str) -> None:
    assert str(Names.of(list(names))).startswith(text)
    assert Names.of(list(names)).total == len(names)
