"""States of partitions: a thousand at once are what each of them is, whatever one of them holds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import Refused
from poolkeeper.zk.codecs.state_nodes import StateColumns, StateNode

STATE = b'{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":2,"isr":[1,3]}'
RECOVERING = STATE[:-1] + b',"leader_recovery_state":1}'


def test_states() -> None:
    assert StateNode.decode(STATE) == StateNode(1, (1, 3), 2, 7)
    assert StateNode.decode(RECOVERING) == StateNode(1, (1, 3), 2, 7)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"{",
        b"1,2",
        b"[]",
        b"{},{}",
        b'{"leader":"1","isr":[1],"leader_epoch":0}',
        b'{"leader":1,"isr":["1"],"leader_epoch":0}',
        b'{"leader":1,"isr":1,"leader_epoch":0}',
        b'{"leader":1,"isr":[1]}',
        b"\xff",
    ],
)
def test_a_damaged_state_among_others_is_told_and_spoils_none(bad: bytes) -> None:
    good = StateNode(1, (1, 3), 2, 7)
    found = list(StateColumns.decode([STATE, None, bad, STATE, None]))
    assert isinstance(found.pop(2), str)
    assert found == [good, None, good, None]


states = st.builds(
    StateNode,
    st.integers(-2, 9),
    st.lists(st.integers(0, 9)).map(tuple),
    st.integers(0, 99),
    st.integers(0, 9),
)


def written(state: StateNode) -> bytes:
    body = {"leader": state.leader, "leader_epoch": state.leader_epoch, "isr": state.isr}
    epoch = {"controller_epoch": state.controller_epoch} if state.controller_epoch else {}
    return json.dumps(body | epoch).encode()


@given(st.lists(st.none() | states, max_size=30), st.integers(0, 30))
def test_many_states_are_what_each_of_them_is(found: list[StateNode | None], repeat: int) -> None:
    expected = found * (repeat * 10)
    data = [None if state is None else written(state) for state in expected]
    assert list(StateColumns.decode(data)) == expected


odd = st.one_of(
    st.sampled_from([1.0, 1e3, True, None, "1", -1, -2, 2**31 - 1, 2**31, 2**70, [], [1], {}]),
    st.integers(-3, 9),
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "leader": odd,
        "leader_epoch": odd,
        "controller_epoch": odd,
        "isr": odd | st.lists(odd),
        "version": odd,
    },
)


def singly(data: bytes) -> StateNode | str:
    try:
        return StateNode.decode(data)
    except Refused as damage:
        return str(damage)


@given(st.lists(bodies, max_size=4))
def test_what_one_is_by_itself_it_is_among_others(found: list[dict[str, object]]) -> None:
    data = [json.dumps(body).encode() for body in found]
    assert list(StateColumns.decode(data)) == [singly(each) for each in data]


@pytest.mark.parametrize("odd", [b"1.0", b"1e0", b"10E-1", b"NaN", b"1 2", b"01"])
def test_no_number_is_taken_for_an_integer_that_is_none(odd: bytes) -> None:
    data = STATE.replace(b'"leader":1', b'"leader":' + odd)
    assert list(StateColumns.decode([data, STATE])) == [singly(data), singly(STATE)]
    assert isinstance(singly(data), str)
