"""Who writes the status of a KafkaCluster, and when two releases are found out."""

from poolkeeper.controller.reporting.operator_names import (
    FORGET_S,
    LAG_S,
    OperatorName,
    two_operators,
)


def test_one_release_is_alone_whatever_an_earlier_one_was_called():
    name = OperatorName("a/pk")
    assert name.names("main", "", "old/pk", 0) == ["a/pk"]
    assert name.names("main", "a/pk", "old/pk", LAG_S / 2) == ["a/pk"]  # the watch lags
    assert name.names("main", "a/pk", "a/pk", 100) == ["a/pk"]


def test_another_one_is_named_by_both_in_the_same_words_until_it_is_silent():
    first, second = OperatorName("a/pk"), OperatorName("b/pk")
    for name in (first, second):
        name.names("main", "", "", 0)
    both = ["a/pk", "b/pk"]
    assert first.names("main", "a/pk", "b/pk", 20) == both
    assert second.names("main", "b/pk", "a/pk, b/pk", 21) == both
    assert first.names("main", "a/pk, b/pk", "a/pk, b/pk", 22) == both
    # the second is uninstalled: after a while the first asks again by writing its own name alone
    assert first.names("main", "a/pk, b/pk", "a/pk, b/pk", 20 + FORGET_S) == ["a/pk"]
    assert first.names("main", "a/pk", "a/pk, b/pk", 21 + FORGET_S) == ["a/pk"]
    assert first.names("main", "a/pk", "a/pk", 60 + FORGET_S) == ["a/pk"]


def test_the_condition_says_what_to_do():
    assert "uninstall all but one" in two_operators(["a/pk", "b/pk"]).message
