"""What Poolkeeper does in a cluster in which nothing is open, and with credentials that are wrong.

Everybody who is not the brokers' own identity may read most nodes and write none. What we write has
the ACLs of what Kafka writes. No password is in anything that we print, log or store.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import traffic
from conditions import until
from matrices import in_part
from poolkeeper.brokers.connections import WRONG_CREDENTIALS
from real.executors import Executor
from real.migrations import SLOW
from real.secured_clusters import (
    CHANGED,
    KAFKA,
    LATE,
    OPS,
    OPS_PASSWORD,
    SECRETS,
    WRONG,
    ZOOKEEPER_PASSWORD,
    ZOOKEEPER_SASL,
    Secured,
    secured_cluster,
)
from real.support import (
    HOLDER,
    MIB,
    REQUEST,
    RUN,
    Ran,
    assert_nothing_left_in,
    command,
    history,
    last_zxid,
    run,
)
from real.test_broker_security import PASSWORD

REJECTED = "ZooKeeper rejected the credentials"
NOT_ASKED = "the brokers are not asked"
KEPT = {"mode": "Apply", "approval": {"policy": "Auto"}}
OPERATOR = {"username": OPS, "password": OPS_PASSWORD, "scheme": "sasl"}
MOVING_MIB = 4
"""So much of each partition takes two minutes at the rate of `SLOW`, longer than any retry."""


@pytest.fixture(
    scope="module",
    params=[("3.9.2", True), pytest.param(("2.0.1", False), marks=pytest.mark.soak)],
    ids=lambda param: param[0],
)
def secured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    kafka, tls = request.param
    with secured_cluster(kafka, tmp_path_factory.mktemp("secured"), tls=tls) as found:
        yield found


def test_a_migration_leaves_no_open_node_and_tells_no_password(secured: Secured) -> None:
    sandbox, zookeeper = secured.sandbox, secured.zookeeper
    audit, plan = secured.folder / "audit.jsonl", secured.folder / "plan.json"
    secured.declare(1)
    told = [secured.apply("--audit-log", audit)]
    traffic.fill(sandbox.bootstrap, {"t": 2}, MIB // 2)
    secured.declare(2, SLOW)
    options = secured.client(ZOOKEEPER_SASL)
    told.append(run("plan", *options, "--out", plan))
    words = command("apply", *options, "--yes", "--audit-log", audit)
    public, private = secured.acl("/brokers/topics"), secured.acl("/config/users")
    assert all(entry.id.scheme == "sasl" or entry.perms == 1 for entry in public)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as applying:
        try:
            request = until(lambda: secured.acl(REQUEST), "a request is in flight", 90)
            ours = {path: secured.acl(path) for path in secured.ours()}
            stored = [secured.text(path) for path in ours]
            said = [run(each, *options) for each in ("status", "show", "history", "plan")]
            rates = {secured.acl(f"/config/brokers/{broker}") == private for broker in (1, 2)}
        finally:
            applying.terminate()
        text = applying.communicate(timeout=60)[0]
    assert RUN in ours
    assert {path for path, acl in ours.items() if acl != public} == set()
    assert request == public
    told += [*said, Ran(0, text, ""), secured.apply("--audit-log", audit)]
    told.append(run("history", *options, "--output", "json"))
    assert rates == {secured.acl("/config/brokers") == private}
    everything = [each.out + each.err for each in told]
    everything += [audit.read_text(), plan.read_text(), *stored]
    everything += [secured.text(path) for path in secured.ours()]
    assert [secret for secret in SECRETS for each in everything if secret in each] == []
    assert audit.stat().st_mode & 0o777 == 0o600
    assert_nothing_left_in(zookeeper, "t")


@pytest.mark.parametrize(
    ("zookeeper", "message"),
    [
        pytest.param(
            ZOOKEEPER_SASL | {"password": WRONG}, "credentials", id="wrong-password-of-zookeeper"
        ),
        pytest.param({}, "is not allowed for this ZooKeeper identity", id="nobody"),
        pytest.param(
            {"username": KAFKA, "password": ZOOKEEPER_PASSWORD},
            "is not allowed for this ZooKeeper identity",
            id="another-scheme",
        ),
    ],
)
def test_who_is_not_known_to_zookeeper_is_told_once_and_writes_nothing(
    secured: Secured, zookeeper: dict[str, str], message: str
) -> None:
    secured.declare(2)
    secured.apply()
    secured.declare(1)
    zxid = last_zxid(secured.sandbox)
    refused = run("apply", *secured.client(zookeeper), "--yes", "--timeout", "5")
    assert (refused.code, message in refused.err) == (3, True), refused
    assert len(refused.err.splitlines()) == 1, refused.err
    assert [secret for secret in SECRETS if secret in refused.out + refused.err] == []
    written = {change.path for change in history(secured.sandbox, zxid)}
    assert {path for path in written if not path.startswith(LATE)} == set()


COMMANDS = (
    *("status", "plan", "show sha256:0", "history", "import --out there", "snapshot --out it.json"),
    *("apply --yes", "stop", "rollback", "repair", "repair --yes --backup old.json"),
)


@pytest.mark.parametrize("words", in_part(COMMANDS, 3))
def test_every_command_tells_once_of_wrong_credentials_and_of_a_stranger_s_certificate(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    secured.declare(2)
    zxid = last_zxid(secured.sandbox)
    wrong = secured.client(ZOOKEEPER_SASL | {"password": WRONG})
    told = {"credentials": run(*words.split(), *wrong, "--timeout", "5")}
    if secured.tls:
        strange = json.loads((secured.folder / "client.yaml").read_text())
        strange["zookeeper"]["tls"] = {}
        (tmp_path / "client.yaml").write_text(json.dumps(strange))
        options = ("--client-config", "client.yaml", *wrong[2:], "--timeout", "5")
        told["certificate"] = run(*words.split(), *options)
    for message, said in told.items():
        assert (said.code, said.out, message in said.err) == (3, "", True), said
        assert len(said.err.splitlines()) == 1, said.err
        assert [secret for secret in SECRETS if secret in said.err] == []
    written = {change.path for change in history(secured.sandbox, zxid)}
    assert {path for path in written if not path.startswith(LATE)} == set()


def test_a_wrong_password_of_brokers_is_told(secured: Secured) -> None:
    secured.declare(2)
    secured.apply()
    options = secured.client(ZOOKEEPER_SASL, broker=WRONG)
    told = run("plan", *options)
    assert "the credentials are wrong" in told.err
    assert [secret for secret in SECRETS if secret in told.out + told.err] == []


@contextmanager
def running(folder: Path, *words: object) -> Iterator[Executor]:
    """A command in a process of its own; none of its output may have a password in it."""
    with Executor.start(command(*words), folder / "output") as executor:
        yield executor
    assert [secret for secret in (*SECRETS, CHANGED) if secret in executor.said()] == []


@contextmanager
def migrating(
    secured: Secured, folder: Path, zookeeper: Mapping[str, str], *words: object, **cluster: object
) -> Iterator[Executor]:
    """A command that moves topic t from broker 1 to broker 2, and is at it, as this identity."""
    until(lambda: not secured.zookeeper.exists(HOLDER), "nobody holds the journal")
    secured.declare(1)
    secured.apply()
    traffic.fill(secured.sandbox.bootstrap, {"t": 2}, MOVING_MIB * MIB)
    secured.declare(2, SLOW, **cluster)
    with running(folder, *words, *secured.client(zookeeper)) as executor:
        until(lambda: secured.zookeeper.exists(REQUEST), "a request is in flight")
        yield executor


def lines(text: str, words: str) -> list[str]:
    return [line for line in text.splitlines() if words in line]


@pytest.mark.soak
def test_the_operator_of_a_folder_tells_once_of_wrong_credentials(
    secured: Secured, tmp_path: Path
) -> None:
    secured.declare(2, **KEPT)
    zxid = last_zxid(secured.sandbox)
    wrong = secured.client(ZOOKEEPER_SASL | {"password": WRONG})
    with running(tmp_path, "run", *wrong) as operator:
        operator.await_said("credentials")
        right = secured.client(ZOOKEEPER_SASL)
        until(lambda: secured.zookeeper.exists(HOLDER), "it has read the right credentials")
        assert right == wrong
        operator.stop()
    assert len(lines(operator.said(), "credentials")) == 1, operator.said()
    before = [change.path for change in history(secured.sandbox, zxid)]
    ours = [path for path in before if not path.startswith(LATE)]
    assert ours[0].startswith("/poolkeeper"), ours  # nobody wrote before the right ones


@pytest.mark.soak
def test_apply_ends_with_one_error_if_its_credentials_become_wrong(
    secured: Secured, tmp_path: Path
) -> None:
    with migrating(secured, tmp_path, OPERATOR, "apply", "--yes") as executor:
        secured.restart_zookeeper(ops=CHANGED)
        zxid = last_zxid(secured.sandbox)
        ended = executor.end()
    secured.client(ZOOKEEPER_SASL)
    assert (ended.code, len(lines(ended.out, REJECTED))) == (3, 1), ended.out
    assert "Traceback" not in ended.out
    ours = [c for c in history(secured.sandbox, zxid) if c.path.startswith("/poolkeeper")]
    assert {(c.kind, c.path) for c in ours} <= {("DELETE", HOLDER)}
    assert secured.zookeeper.exists(RUN)
    secured.restart_zookeeper(ops=OPS_PASSWORD)
    secured.declare(2)
    done = run("apply", *secured.client(OPERATOR), "--yes")
    assert done.code == 0, done
    assert_nothing_left_in(secured.zookeeper, "t")


@pytest.mark.soak
def test_the_operator_tells_of_credentials_that_become_wrong_and_takes_up_the_right_ones(
    secured: Secured, tmp_path: Path
) -> None:
    with migrating(secured, tmp_path, OPERATOR, "run", **KEPT) as operator:
        secured.restart_zookeeper(ops=CHANGED)
        operator.await_said(REJECTED)
        told = run("status", *secured.client(OPERATOR))
        assert (told.code, len(lines(told.err, "credentials"))) == (3, 1), told
        secured.client(OPERATOR | {"password": CHANGED})
        secured.declare(2, **KEPT)
        until(lambda: not secured.zookeeper.exists(RUN), "the run ends", 300)
        operator.stop()
    assert len(lines(operator.said(), REJECTED)) == 1, operator.said()
    secured.restart_zookeeper(ops=OPS_PASSWORD)
    assert_nothing_left_in(secured.zookeeper, "t")


@pytest.mark.soak
def test_a_password_of_brokers_that_changes_in_mid_run_is_told_and_the_new_one_taken_up(
    secured: Secured, tmp_path: Path
) -> None:
    with migrating(secured, tmp_path, ZOOKEEPER_SASL, "run", **KEPT) as operator:
        secured.set_broker_password(CHANGED)
        secured.sandbox.kill(2)
        secured.sandbox.await_gone(2)
        secured.sandbox.start_broker(2)
        operator.await_said(NOT_ASKED, 120)
        assert WRONG_CREDENTIALS in operator.said()
        told = run("status", *secured.client(ZOOKEEPER_SASL))
        assert len(lines(told.out + told.err, NOT_ASKED)) == 1, told
        secured.client(ZOOKEEPER_SASL, broker=CHANGED)
        said = len(operator.said())
        until(
            lambda: (
                lines(operator.said()[said:], "moving")
                and NOT_ASKED not in lines(operator.said()[said:], "moving")[-1]
            ),
            "the new password is taken up",
        )
        secured.declare(2, **KEPT)
        until(lambda: not secured.zookeeper.exists(RUN), "the run ends", 300)
        operator.stop()
    secured.set_broker_password(PASSWORD)
    assert_nothing_left_in(secured.zookeeper, "t")


@pytest.mark.soak
def test_commands_with_a_wrong_password_of_brokers_tell_so_and_go_on_without_them(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper alone is enough, also to take back what is in flight where a failover may be."""
    monkeypatch.chdir(tmp_path)
    with migrating(secured, tmp_path, ZOOKEEPER_SASL, "apply", "--yes"):
        pass
    zxid = last_zxid(secured.sandbox)
    wrong = secured.client(ZOOKEEPER_SASL, broker=WRONG)
    told = {
        words: run(*words.split(), *wrong)
        for words in ("status", "plan", "snapshot --out it.json", "repair", "history")
    }
    written = {change.path for change in history(secured.sandbox, zxid)}
    asked = run("rollback", *wrong, "--allow-controller-failover")
    taken_back = run("apply", *wrong, "--yes")
    for words in ("status", "plan", "snapshot --out it.json"):
        text = told[words].out + told[words].err
        assert len(lines(text, WRONG_CREDENTIALS)) == 1, (words, text)
    assert [path for path in written if path.startswith("/poolkeeper")] == []
    assert (asked.code, taken_back.code) == (0, 1), (asked, taken_back)
    assert f"{NOT_ASKED}: " in taken_back.out
    everything = [each.out + each.err for each in (*told.values(), asked, taken_back)]
    everything.append((tmp_path / "it.json").read_text())
    assert [secret for secret in SECRETS for each in everything if secret in each] == []
    assert_nothing_left_in(secured.zookeeper, "t")
    secured.declare(1, **KEPT)
    with running(tmp_path, "run", *wrong) as operator:
        operator.await_said(WRONG_CREDENTIALS)
        operator.stop()
    assert len(lines(operator.said(), NOT_ASKED)) == 1, operator.said()
