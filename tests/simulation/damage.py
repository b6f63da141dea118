"""What tests of damaged nodes share: commands on a tree, and what is found damaged in it."""

import json
from collections.abc import Callable

from hypothesis import strategies as st

from poolkeeper.errors import NodeDamage
from poolkeeper.zk import znodes
from poolkeeper.zk.journal import journal
from simulation.our_tree import OurTree, Said

RUN, CHUNK = znodes.RUN, znodes.plan_chunk(0)

Say = Callable[..., Said]


def damaged(tree: OurTree) -> dict[str, NodeDamage]:
    """Return what is found damaged."""
    return {each.path: each for each in journal.read_status(tree.session()).damage}


def declared_as_is(tree: OurTree, say: Say) -> None:
    """See that nothing is to be done but for what the test plants."""
    said = say(tree, "plan", "--output", "json")
    assert (said.code, json.loads(said.out)["asDeclared"]) == (0, True)


DEFAULT = "/config/brokers/<default>"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
