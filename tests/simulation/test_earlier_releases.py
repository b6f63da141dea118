"""What an earlier release left behind (`tests/earlier`) is read whole, and means the same.

What is written now differs from it by nothing, or by fields that an earlier release ignores.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from poolkeeper.cli import main
from poolkeeper.model.execution.runs import Phase, StoredRun
from poolkeeper.planning.proposals import plan_json
from poolkeeper.zk import znodes
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.our_nodes import TopicRecordBody
from poolkeeper.zk.journal import (
    history,
    journal,
    pending_plan,
    records,
    runs,
    throttle_records,
)
from simulation.our_tree import OurTree

EARLIER = Path(__file__).parents[1] / "earlier"
PLAN = EARLIER / "plan.json"
OF_RUN = "sha256:5bdb132ffb6c43c0c965060b9623bbabc5a3aa0c93b963427e81cf6da660bb26"


def recorded() -> Mapping[str, bytes]:
    """The nodes that the earlier release wrote; its holder has ended."""
    nodes = json.loads((EARLIER / "znodes.json").read_text())
    return {
        path: node["text"].encode() if "text" in node else base64.b64decode(node["base64"])
        for path, node in nodes.items()
        if path != znodes.HOLDER
    }


NODES = recorded()


@pytest.fixture
def session():
    return OurTree.plant(NODES).session()


def stored(session) -> StoredRun:
    return journal.read_stored_run(session)


def test_nothing_of_its_journal_is_damaged(session):
    view = journal.read_status(session)
    assert (view.damage, history.read(session).damage) == ((), ())
    assert view.approvals == (OF_RUN,)
    assert pending_plan.read_if_whole(session).hash == OF_RUN
    assert {*view.throttles.topics} == {"orders"}
    assert {*view.throttles.brokers} == {1, 2, 3, 4, 5, 6}
    assert view.request.plan == OF_RUN
    assert view.records.topics["orders"].owner == "default/orders"


def test_its_run_is_taken_over_where_it_was(session):
    run, document = stored(session).run, stored(session).document
    assert (run.plan, run.phase, run.stage) == (OF_RUN, Phase.MOVING, 2)
    assert [(m.topic, m.partition) for m in run.requested_moves(document.plan)] == [("orders", 3)]
    assert document.plan.hash == plan_json.plan_hash(document.plan.moves, document.plan.steps)
    assert document.throttled


def test_a_run_ends_with_all_that_a_later_release_kept_below_it():
    deeper = {"/poolkeeper/run/novel": b"", "/poolkeeper/run/novel/deep/er": b"x"}
    tree = OurTree.plant({**NODES, **deeper})
    session = tree.session()
    with journal.hold(session, "apply", 0, patience_s=0) as held:
        held.end(journal.read_run(session))
    assert tree.read(znodes.RUN) is None
    assert tree.read("/poolkeeper/history/0000000000") is not None


def rewritten(path: str, data: bytes) -> bytes:
    """What this release writes for what it reads there."""
    if path == znodes.RUN:
        return runs.encode_run(runs.decode_run(data, 0))
    if path.startswith(f"{znodes.HISTORY}/"):
        return history.encode(history.decode(path, data))
    if path.startswith(f"{znodes.RECORDS_OF_TOPICS}/"):
        return records.encode_topic(our_nodes.decode(path, data, TopicRecordBody).record)
    entity = znodes.throttled_entity(path.rpartition("/")[2])
    assert entity is not None
    return throttle_records.encode(throttle_records.decode(data, entity))


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in NODES
        if path == znodes.RUN
        or path.startswith(
            (
                f"{znodes.HISTORY}/",
                f"{znodes.RECORDS_OF_TOPICS}/",
                f"{znodes.RECORDS_OF_THROTTLES}/",
            )
        )
    ],
)
def test_an_earlier_release_can_read_what_is_written_now(path):
    before, now = json.loads(NODES[path]), json.loads(rewritten(path, NODES[path]))
    assert {name: now[name] for name in before} == before


def test_the_stored_plan_is_written_as_ever(session):
    """What is compressed: the same text has other bytes with another zlib."""
    chunks = runs.encode_document(stored(session).document)
    count = stored(session).run.chunks
    before = [session.read(znodes.plan_chunk(number)).data for number in range(count)]
    assert gzip.decompress(b"".join(chunks)) == gzip.decompress(b"".join(before))


def test_its_plan_is_read_whole():
    plan = plan_json.decode(PLAN.read_bytes())
    before, now = json.loads(PLAN.read_text()), json.loads(plan_json.encode(plan))
    assert now == {name: before[name] for name in now}


@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.parquet"])
def test_its_manifests_and_snapshots_ask_for_the_plan_that_it_made(name, tmp_path, capsys):
    """The fingerprint is that of the plan in a file, and of a run under way: they go on.

    A field that is new to a spec must leave it as it was where nobody declares it
    (`planning.proposals.identity`).
    """
    out = tmp_path / "plan.json"
    words = ("-f", EARLIER / "manifests", "--snapshot", EARLIER / name, "--out", out)
    assert main.main(["plan", *map(str, words)]) == 2, capsys.readouterr().err
    before, now = (plan_json.decode(file.read_bytes()) for file in (PLAN, out))
    assert now.fingerprint == before.fingerprint
    assert {part.name: part.fingerprint for part in now.parts} == {
        part.name: part.fingerprint for part in before.parts
    }
    assert now.hash == before.hash
