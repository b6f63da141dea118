"""What is awaited once a definition was removed."""

import pytest

from poolkeeper.controller.removed_definitions import (
    AWAITED,
    RETURN_S,
    SEEN_S,
    RemovedDefinitions,
)
from poolkeeper.resources.kinds.custom_resource import ObjectKey

GOING = "the definitions of topics are being removed"
MAIN, FAST = ObjectKey("KafkaCluster", "", "main"), ObjectKey("ResourcePool", "", "fast")
ORDERS, BILLS = ObjectKey("Topic", "shop", "orders"), ObjectKey("Topic", "shop", "bills")
EVENING = ObjectKey("Rebalance", "", "evening")
OTHERS = (MAIN, FAST)
ALL = (*OTHERS, ORDERS, BILLS)


class Looked:
    """Looks at times that the test says."""

    def __init__(self):
        self.now_s = 0.0
        self._definitions = RemovedDefinitions(lambda: self.now_s)

    def at(self, now_s, keys, removed=""):
        self.now_s = now_s
        return self._definitions.look(keys, removed)


def test_nothing_is_awaited_where_no_definition_went():
    looked = Looked()
    assert looked.at(0, ALL) == ""
    assert looked.at(1, OTHERS) == ""


@pytest.mark.parametrize("seen_going", [ALL, (*OTHERS, BILLS), OTHERS])
def test_what_went_with_a_definition_is_awaited_and_no_longer(seen_going):
    looked = Looked()
    assert looked.at(0, ALL) == ""
    assert looked.at(1, seen_going, GOING) == GOING
    assert looked.at(2, OTHERS, GOING) == GOING
    assert looked.at(3, OTHERS) == AWAITED
    assert looked.at(4, (*OTHERS, ORDERS)) == AWAITED
    assert looked.at(5, ALL) == ""
    assert looked.at(6, OTHERS) == "", "a Topic that is deleted later is deleted"


def test_what_never_comes_back_is_awaited_for_a_while():
    looked = Looked()
    looked.at(0, ALL)
    looked.at(1, OTHERS, GOING)
    assert looked.at(2, OTHERS) == AWAITED
    assert looked.at(1 + RETURN_S, OTHERS) == AWAITED
    assert looked.at(2 + RETURN_S, OTHERS) == ""
    assert looked.at(3 + RETURN_S, OTHERS) == ""


def test_the_time_begins_anew_with_another_removal():
    looked = Looked()
    looked.at(0, ALL)
    looked.at(1, OTHERS, GOING)
    assert looked.at(2, OTHERS) == AWAITED
    assert looked.at(RETURN_S, OTHERS, GOING) == GOING
    assert looked.at(RETURN_S + 5, OTHERS) == AWAITED
    assert looked.at(2 * RETURN_S, OTHERS) == AWAITED


def test_what_was_deleted_long_before_is_not_awaited():
    looked = Looked()
    looked.at(0, ALL)
    looked.at(1, (*OTHERS, ORDERS))
    looked.at(1 + SEEN_S, (*OTHERS, ORDERS), GOING)
    assert looked.at(2 + SEEN_S, OTHERS) == AWAITED
    assert looked.at(3 + SEEN_S, (*OTHERS, ORDERS)) == ""


def test_rebalances_are_not_awaited():
    looked = Looked()
    looked.at(0, (*ALL, EVENING))
    looked.at(1, ALL, GOING)
    assert looked.at(2, ALL) == ""
