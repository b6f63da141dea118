"""The record of a run survives its journey through ZooKeeper, or is recognised as broken."""

import gzip
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import DamagedNode, NodeDamage
from poolkeeper.model.execution.runs import (
    Ending,
    Health,
    Phase,
    RateReason,
    Run,
    RunDocument,
    Saved,
    StopRequest,
)
from poolkeeper.model.plans import Move, Plan, PlannedStage
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.proposals import plan_json
from poolkeeper.zk.client.operations import TRANSACTION_BYTES_MAX
from poolkeeper.zk.journal import runs
from poolkeeper.zk.journal.runs import (
    decode_document,
    decode_run,
    decode_stop,
    digest_of,
    encode_document,
    encode_run,
    encode_stop,
)


def document(moves: int = 3) -> RunDocument:
    made = tuple(Move(f"t{i}", f"id{i * 7919}", i, ((1, 2), (3, 2)), i, "r") for i in range(moves))
    plan = Plan("c", plan_json.plan_hash(made, ()), "sha256:f", moves=made)
    saved = Saved({"t0": {"k": None, "l": "0:1"}}, {7: {"r": "9"}, 8: {"r": None}})
    return RunDocument(plan, saved, Health(frozenset({TopicPartition("t", 1)}), frozenset()))


def test_a_document_comes_back_whole():
    chunks = encode_document(document())
    assert decode_document(chunks, digest_of(chunks)) == document()


def test_a_document_is_cut_into_chunks_that_fit_a_transaction():
    chunks = encode_document(document(500), chunk_bytes=1000)
    assert len(chunks) > 1
    assert all(len(chunk) <= 1000 for chunk in chunks)
    assert decode_document(chunks, digest_of(chunks)) == document(500)
    assert max(runs.CHUNK_BYTES) < TRANSACTION_BYTES_MAX


def test_chunks_fit_servers_of_small_requests_unless_they_were_too_many(monkeypatch):
    monkeypatch.setattr(runs, "CHUNK_BYTES", (100, 1000))
    monkeypatch.setattr(runs, "CHUNKS_AIM", 5)
    for moves, bytes_ in ((1, 100), (500, 1000)):
        chunks = encode_document(document(moves))
        assert len(chunks) > 1
        assert len(chunks[0]) == bytes_
        assert decode_document(chunks, digest_of(chunks)) == document(moves)


def test_a_document_without_its_last_chunk_or_of_another_run_is_none():
    chunks = encode_document(document(500), chunk_bytes=1000)
    assert decode_document(chunks[:-1], digest_of(chunks)) is None
    other = encode_document(document(2))
    assert decode_document(other, digest_of(chunks)) is None
    assert decode_document((), digest_of(chunks)) is None


WRITTEN = (
    '{"baseline":{"under_min_isr":[],"under_replicated":[["t",1]]},"plan":{"certificate":'
    '{"pools":[]},"cluster":"c","fingerprint":"sha256:f","hash":"sha256:'
    '%s","makespan":null,"moves":'
    '[{"bytes":0,"from":[1,2],"partition":0,"path":[[1,2],[3,2]],"reason":"\\u00e9","to":[3,2],'
    '"topic":"t0","topicId":"id0","urgency":4}],"problems":[],"stages":[{"bytes":0,"moves":[[0,1]],'
    '"seconds":0}],"steps":[],"version":1},"saved":{"brokers":{"7":{"r":"9"}},"topics":{"t0":'
    '{"k":null}}},"version":1}'
)
"""A document that lies in a ZooKeeper: what a release wrote, later ones read, and write alike."""


def test_a_document_is_written_to_the_byte_as_ever_and_read_without_what_is_new():
    moves = (Move("t0", "id0", 0, ((1, 2), (3, 2)), 0, "é"),)
    digest = plan_json.plan_hash(moves, ())
    plan = Plan("c", digest, "sha256:f", moves=moves, stages=(PlannedStage(((0, 1),), 0, 0),))
    health = Health(frozenset({TopicPartition("t", 1)}), frozenset())
    whole = RunDocument(plan, Saved({"t0": {"k": None}}, {7: {"r": "9"}}), health)
    text = WRITTEN % digest.removeprefix("sha256:")
    assert gzip.decompress(b"".join(encode_document(whole))).decode() == text
    older = gzip.compress(text.replace(',"urgency":4', "").encode())
    assert decode_document((older,), digest_of((older,))) == whole


def test_a_document_that_says_something_else_is_refused_with_its_places():
    wrong = gzip.compress(b'{"plan": {"version": 1, "hash": 3}, "saved": {}, "baseline": []}')
    with pytest.raises(DamagedNode) as caught:
        decode_document((wrong,), digest_of((wrong,)))
    assert caught.value.damage == NodeDamage(
        "/poolkeeper/run/plan-0000",
        "baseline: Expected `object`, got `array`; plan.cluster: is missing (expected a string)",
    )


PART = {"name": "heal", "hash": "sha256:h", "fingerprint": "sha256:f", "moves": [0]}


@pytest.mark.parametrize(
    ("of_document", "of_plan", "parts"),
    [
        pytest.param(2, 1, [PART], id="the-document"),
        pytest.param(1, 2, [PART], id="its-plan"),
        pytest.param(2, 1, [{"novel": True}], id="with-what-this-release-cannot-read"),
    ],
)
def test_a_document_of_a_later_release_is_that_releases(of_document, of_plan, parts):
    plan = plan_json.to_json(document().plan) | {"version": of_plan, "parts": parts}
    body = {"version": of_document, "plan": plan, "saved": {}, "baseline": {}}
    chunk = gzip.compress(json.dumps(body).encode())
    with pytest.raises(DamagedNode) as caught:
        decode_document((chunk,), digest_of((chunk,)))
    assert caught.value.damage == NodeDamage("/poolkeeper/run/plan-0000", "", 2)


def test_a_run_whose_rate_has_a_reason_that_only_a_later_release_has_goes_on():
    body = json.loads(encode_run(replace(RUN, rates=(5,)))) | {"rate_reason": "Novel", "novel": 1}
    assert decode_run(json.dumps(body).encode(), 0) == replace(RUN, rates=(5,))


def test_a_run_node_is_written_to_the_byte_as_ever():
    assert encode_run(replace(RUN, step=((0, 1),), rates=(5,), version=9)) == (
        b'{"attempts":0,"chunks":2,"concern":"sha256:c","digest":"d","ending":"","fingerprint":'
        b'"sha256:f","phase":"STORING","plan":"sha256:p","rates":[5],"requested_ms":0,"stage":0,'
        b'"started_ms":1700000000000,"step":[[0,1]],"throttled_ms":0,"version":1}'
    )


RUN = Run("sha256:p", "sha256:f", "sha256:c", Phase.STORING, "d", 2, 1_700_000_000_000)


@given(
    phase=st.sampled_from(list(Phase)),
    step=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 9)), max_size=5),
    rates=st.lists(st.integers(1, 2**40), max_size=2),
    reasons=st.tuples(st.sampled_from([None, *Ending]), st.sampled_from([None, *RateReason])),
    numbers=st.tuples(*[st.integers(0, 2**42)] * 4),
    version=st.integers(0, 10**6),
    returning=st.lists(st.integers(0, 10**6), max_size=3),
)
def test_a_run_node_comes_back_as_it_was(phase, step, rates, reasons, numbers, version, returning):
    stage, requested_ms, attempts, throttled_ms = numbers
    run = replace(
        RUN,
        phase=phase,
        step=tuple(step),
        rates=tuple(rates),
        ending=reasons[0],
        rate_reason=reasons[1],
        stage=stage,
        requested_ms=requested_ms,
        attempts=attempts,
        throttled_ms=throttled_ms,
        version=version,
        returning=tuple(returning),
    )
    assert decode_run(encode_run(run), version) == run


@pytest.mark.parametrize(
    ("stop", "data"),
    [
        (StopRequest(), b""),
        (StopRequest(at_once=True), b'{"allow_failover":false,"at_once":true,"version":1}'),
        (StopRequest(True, True), b'{"allow_failover":true,"at_once":true,"version":1}'),
    ],
)
def test_a_request_to_stop_comes_back_as_it_was(stop, data):
    assert encode_stop(stop) == data
    assert decode_stop(data) == stop


@pytest.mark.parametrize("data", [b"yes", b"[]", b'{"at_once":"true"}', b'{"at_once":1}'])
def test_a_request_to_stop_that_cannot_be_read_ends_the_run_after_its_stage(data):
    assert decode_stop(data) == StopRequest()
