"""Witnesses: what they name conflicts, and without any one of it nothing does."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.planning.facts.conflicts import Member, Obstacle, brokers_lacking, racks_lacking

DRAINED, DOWN, GONE, FAILED = Obstacle

members = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, None, *Obstacle])), max_size=6
).map(lambda found: [Member(n, rack, why) for n, (rack, why) in enumerate(found, 1)])


def possible(factor: int, pool: list[Member], obstacles: set[int], *, racks: bool) -> bool:
    """Whether some replica list of that length obeys: every subset of the brokers is tried."""
    free = [member for member in pool if member.id not in obstacles]
    return any(
        not racks or len({member.rack for member in chosen}) == factor
        for chosen in itertools.combinations(free, factor)
    )


@pytest.mark.parametrize("racks", [False, True], ids=["brokers", "racks"])
@given(pool=members, factor=st.integers(1, 5))
def test_a_witness_conflicts_and_is_minimal(racks, pool, factor) -> None:
    witness = (racks_lacking if racks else brokers_lacking)(factor, pool)
    blocked = {member.id for member in pool if member.obstacle}
    assert (witness is None) == possible(factor, pool, blocked, racks=racks)
    if witness is None:
        return
    groups = [tuple(member.id for member in group) for group in witness.conflicting]
    assert set(itertools.chain(*groups)) <= blocked
    assert not possible(factor, pool, set(itertools.chain(*groups)), racks=racks)
    assert possible(factor - 1, pool, blocked, racks=racks) or factor - 1 > len(witness.usable)
    for dropped in groups:
        rest = set(itertools.chain(*(group for group in groups if group != dropped)))
        assert possible(factor, pool, rest, racks=racks)


@pytest.mark.parametrize(
    ("obstacles", "factor", "text", "advice"),
    [
        pytest.param("..", 3, "1, 2", "add one", id="the-pool-is-too-small"),
        pytest.param(
            "..d",
            3,
            "1, 2; 3 is drained",
            "take broker 3 out of spec.drain, or add one",
            id="one-is-drained",
        ),
        pytest.param(
            ".d-",
            3,
            "1; 2 is drained",
            "2 more brokers are needed: take broker 2 out of spec.drain, bring broker 3 back, add"
            " one",
            id="what-a-person-can-give-back-comes-first",
        ),
        pytest.param(
            "x-d",
            1,
            "none; 3 is drained; 2 is not live; 1 is gone",
            "take broker 3 out of spec.drain, or bring broker 2 back, or replace broker 1, or add"
            " one",
            id="none-is-left",
        ),
    ],
)
def test_texts(obstacles, factor, text, advice) -> None:
    why = {".": None, "d": DRAINED, "-": DOWN, "x": GONE}
    pool = [Member(n, "", why[sign]) for n, sign in enumerate(obstacles, 1)]
    witness = brokers_lacking(factor, pool)
    assert witness is not None
    assert (witness.text, witness.advice("add one")) == (text, advice)


def test_a_rack_of_which_nothing_is_usable_is_named_with_its_brokers() -> None:
    pool = [Member(1, "a"), Member(2, "b"), Member(3, "c", DRAINED), Member(4, "c", DOWN)]
    witness = racks_lacking(3, pool)
    assert witness is not None
    assert witness.text == "a, b; of rack c 3 is drained, 4 is not live"
    assert witness.advice("add one") == "take broker 3 out of spec.drain (rack c), or add one"
