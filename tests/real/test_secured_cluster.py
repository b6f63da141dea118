"""What Poolkeeper does in a cluster in which nothing is open, and with credentials that are wrong.

Everybody who is not the brokers' own identity may read most nodes and write none. What we write has
the ACLs of what Kafka writes. No password is in anything that we print, log or store.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import traffic
from conditions import until
from real.migrations import SLOW
from real.secured_clusters import (
    KAFKA,
    LATE,
    SECRETS,
    WRONG,
    ZOOKEEPER_PASSWORD,
    ZOOKEEPER_SASL,
    Secured,
    secured_cluster,
)
from real.support import (
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


@pytest.mark.parametrize("words", COMMANDS)
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
