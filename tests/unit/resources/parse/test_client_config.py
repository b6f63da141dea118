from pathlib import Path

import pytest

import pem_texts
from poolkeeper.errors import InvalidInput
from poolkeeper.model.credentials import (
    BrokerCredentials,
    ClientConfig,
    Mechanism,
    Scheme,
    ZooKeeperCredentials,
)
from poolkeeper.model.specs import Tls
from poolkeeper.resources.parse import client_config

SECRET = "hunter2"
NO_FIELDS = "c.yaml:1: has no fields (expected zookeeper or brokers)"


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "ca.pem": pem_texts.CERTIFICATE,
        "me.pem": pem_texts.CERTIFICATE,
        "me.key": pem_texts.KEY,
        "locked.key": pem_texts.ENCRYPTED_KEY,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_everything_said(folder):
    text = """\
zookeeper:
  username: keeper
  password: zk-secret
  scheme: sasl
  tls: {ca: ca.pem, certificate: me.pem, key: me.key}
brokers:
  securityProtocol: SASL_SSL
  saslMechanism: SCRAM-SHA-512
  username: keeper
  password: "0123"
"""
    config = client_config.parse(text, folder / "client.yaml")
    files = Tls(str(folder / "ca.pem"), str(folder / "me.pem"), str(folder / "me.key"))
    assert config == ClientConfig(
        ZooKeeperCredentials("keeper", "zk-secret", Scheme.SASL),
        files,
        BrokerCredentials("keeper", "0123", Mechanism.SCRAM_SHA_512),
        Tls(),
    )
    assert "zk-secret" not in repr(config)


def test_nothing_but_a_user_of_zookeeper(folder):
    text = "zookeeper: {username: a, password: b}\n"
    assert client_config.parse(text, folder / "c.yaml") == ClientConfig(
        ZooKeeperCredentials("a", "b")
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "zookeeper:\n  username: a\n",
            ["c.yaml:1: zookeeper.password: is missing (expected with the username)"],
            id="a-user-without-a-password",
        ),
        pytest.param(
            f"zookeeper:\n  username: a\n  passwort: {SECRET}\n",
            [
                "c.yaml:1: zookeeper.password: is missing (expected with the username)",
                "c.yaml:3: zookeeper.passwort: is no known field (did you mean 'password'?)",
            ],
            id="a-misspelt-password",
        ),
        pytest.param(
            f"brokers:\n  username: a\n  password: [{SECRET}]\n",
            ["c.yaml:3: brokers.password: is the value (expected text)"],
            id="a-password-in-brackets",
        ),
        pytest.param(
            "brokers:\n  username: a\n  password: 1234\n",
            ["c.yaml:3: brokers.password: the value is not text (expected quotes)"],
            id="a-password-of-digits",
        ),
        pytest.param(
            "brokers:\n  username: a\n  password: 0123\n",
            ["c.yaml:3: brokers.password: has no quotes (expected them)"],
            id="a-password-that-is-ambiguous",
        ),
        pytest.param(
            f"brokers:\n  username: a\n  password: *{SECRET}\n",
            ["c.yaml:3: an alias stands for nothing before it (expected an anchor)"],
            id="a-password-that-is-an-alias",
        ),
        pytest.param(
            f"brokers:\n  username: a\n  password: '{SECRET}\n",
            ["c.yaml:4: cannot be read (expected YAML)"],
            id="a-password-with-one-quote",
        ),
        pytest.param(
            "zookeeper: {username: a, password: b, scheme: digets}\n",
            ["c.yaml:1: zookeeper.scheme: the value is unknown (did you mean 'digest'?)"],
            id="a-scheme-that-does-not-exist",
        ),
        pytest.param(
            "zookeeper:\n  tls:\n    ca: me.key\n    certificate: me.pem\n    key: locked.key\n",
            [
                "c.yaml:3: zookeeper.tls.ca: holds no certificate (expected PEM)",
                "c.yaml:5: zookeeper.tls.key: holds a key that is encrypted"
                " (expected one without a password)",
            ],
            id="files-that-cannot-be-used",
        ),
        pytest.param(
            "brokers: {securityProtocol: SASL_SSL}\n",
            [
                "c.yaml:1: brokers.securityProtocol: is SASL_SSL"
                " (expected a username and a password with it)"
            ],
            id="SASL-without-a-user",
        ),
        pytest.param(
            "brokers: {securityProtocol: SSL, username: a, password: b}\n",
            ["c.yaml:1: brokers.securityProtocol: is SSL (expected SASL_SSL or SASL_PLAINTEXT)"],
            id="a-user-without-SASL",
        ),
        pytest.param(
            "brokers: {securityProtocol: PLAINTEXT, tls: {ca: ca.pem}}\n",
            [
                "c.yaml:1: brokers.securityProtocol: is PLAINTEXT, and tls is said"
                " (expected SSL or SASL_SSL)"
            ],
            id="TLS-in-plain-text",
        ),
        pytest.param(
            "zookeeper: {tls: {certificate: me.pem, ca: nowhere.pem}}\n",
            [
                "c.yaml:1: zookeeper.tls.ca: names no file (expected a PEM file)",
                "c.yaml:1: zookeeper.tls.key: is missing (expected with the certificate)",
            ],
            id="files-that-are-missing",
        ),
        pytest.param("- a\n", [NO_FIELDS], id="list"),
        pytest.param("", ["c.yaml: holds 0 documents (expected one)"], id="nothing"),
    ],
)
def test_problems_never_show_a_secret(folder, text, expected):
    with pytest.raises(InvalidInput) as caught:
        client_config.parse(text, folder / "c.yaml")
    told = str(caught.value).replace(f"{folder}/", "")
    assert told.splitlines() == expected
    assert SECRET not in told


def test_a_file_that_is_not_there():
    with pytest.raises(InvalidInput) as caught:
        client_config.load(Path("nowhere.yaml"))
    assert str(caught.value) == (
        "nowhere.yaml: cannot be read: no such file or directory (expected a file or a folder)"
    )
