"""A rehearsal in a real ZooKeeper writes there what it writes in the one in process."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

import txnlog
from poolkeeper.rehearsal.recorder import Recorder
from poolkeeper.rehearsal.results import document
from poolkeeper.rehearsal.results.outcomes import Rehearsed, with_faults
from poolkeeper.rehearsal.values import End, Settings
from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation, Transaction, TransactionKind
from real.support import kazoo, last_zxid
from rehearsed import FIXED, SETTINGS, subject

SUBJECT = subject(execution=replace(FIXED, max_moves=4))
MADE_BY_THE_SERVER = re.compile(r"\"(czxid|session)\":[0-9]+|(?<=^/poolkeeper/holder-)[0-9a-f]+$")
Written = list[tuple[tuple[Any, ...], ...]]


def written(transactions: Iterable[Transaction], chroot: str = "") -> Written:
    """What was done together, in order: kinds, paths and data; checks and failures count."""
    found = (
        tuple(shown(o, chroot) for o in each.operations if o.error or o.path.startswith(chroot))
        for each in transactions
    )
    return [done for done in found if any(path for _, path, _ in done)]


def shown(operation: Operation, chroot: str) -> tuple[Any, ...]:
    data = (operation.data or b"").decode("latin-1")  # a plan is compressed
    kind = "CREATE" if operation.kind.creates else operation.kind.name
    path = operation.path.removeprefix(chroot)
    return kind, MADE_BY_THE_SERVER.sub("", path), MADE_BY_THE_SERVER.sub("", data)


def rehearse(
    settings: Settings, faults: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> tuple[Rehearsed, list[list[Transaction]]]:
    """Rehearse; return also what was written without the faults, and with them."""
    logs: dict[Recorder, list[Transaction]] = {}
    take_in = Recorder.append

    def append(recorder: Recorder, transaction: Transaction) -> None:
        logs.setdefault(recorder, []).append(transaction)
        take_in(recorder, transaction)

    with monkeypatch.context() as patched:
        patched.setattr(Recorder, "append", append)
        return with_faults(SUBJECT, settings, faults), list(logs.values())


@pytest.mark.parametrize(
    "faults",
    [(), ("controller@50%",), ("broker=3@30%,for=1m",), ("poolkeeper@40%",), ("zookeeper@60%",)],
    ids=str,
)
def test_the_same_writes_in_the_same_order(
    zookeeper: Sandbox, chroot: str, faults: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    within, root = chroot.partition("/")[::2]
    made: list[str] = []

    def new_chroot() -> str:
        made.append(f"/{root}/{len(made)}")
        with kazoo(within) as client:
            client.create(made[-1])
        return within + made[-1]

    before = last_zxid(zookeeper)
    plain, in_process = rehearse(SETTINGS, faults, monkeypatch)
    asked = replace(SETTINGS, new_zookeeper=new_chroot)
    stored, in_server = rehearse(asked, faults, monkeypatch)
    assert stored.shown.end is End.FINISHED
    assert document.to_json(stored) == document.to_json(plain)
    assert list(map(written, in_server)) == list(map(written, in_process))
    logged = txnlog.read_folder(zookeeper.transaction_log(), before)
    for path, told in zip(made, in_server, strict=True):
        ours, real = written(without_ends(told)), written(without_ends(logged), path)
        assert real[-len(ours) :] == ours
        assert {kind for done in real[: -len(ours)] for kind, _, _ in done} == {"CREATE"}


def without_ends(transactions: Iterable[Transaction]) -> list[Transaction]:
    """The transactions but for ends of sessions, whose nodes go in an order of the server."""
    return [each for each in transactions if each.kind is not TransactionKind.CLOSE_SESSION]
