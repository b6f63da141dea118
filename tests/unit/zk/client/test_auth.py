import pytest

from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.model.credentials import Scheme, ZooKeeperCredentials
from poolkeeper.model.specs import Tls
from poolkeeper.zk.client.auth import client_options


@pytest.mark.parametrize(
    ("credentials", "tls", "options"),
    [
        pytest.param(None, None, {}, id="anybody"),
        pytest.param(
            ZooKeeperCredentials("alice", "s:3"),
            None,
            {"auth_data": [("digest", "alice:s:3")]},
            id="digest",
        ),
        pytest.param(
            None,
            Tls("ca.pem", "me.pem", "me.key"),
            {
                "use_ssl": True,
                "ca": "ca.pem",
                "certfile": "me.pem",
                "keyfile": "me.key",
                "check_hostname": True,
            },
            id="tls-with-a-certificate-of-our-own",
        ),
    ],
)
def test_what_kazoo_is_told(
    credentials: ZooKeeperCredentials | None, tls: Tls | None, options: dict[str, object]
) -> None:
    assert client_options(credentials, tls) == options


def test_sasl_says_what_it_needs_where_that_is_missing() -> None:
    credentials = ZooKeeperCredentials("alice", "secret", Scheme.SASL)
    with pytest.raises(Unavailable, match=r"SASL needs the package pure-sasl"):
        client_options(credentials, None, find=lambda name: None)
    assert client_options(credentials, None, find=lambda name: "there") == {
        "sasl_options": {"mechanism": "DIGEST-MD5", "username": b"alice", "password": b"secret"}
    }


@pytest.mark.parametrize(
    ("credentials", "words"),
    [
        (ZooKeeperCredentials("a:b", "secret"), "scheme digest has no colon in its name"),
        (ZooKeeperCredentials("alice", "пароль", Scheme.SASL), "characters of ISO 8859-1 only"),
    ],
    ids=["colon", "cyrillic"],
)
def test_credentials_that_no_server_could_know_are_told(
    credentials: ZooKeeperCredentials, words: str
) -> None:
    with pytest.raises(Forbidden, match=words) as raised:
        client_options(credentials, None, find=lambda name: "there")
    assert credentials.password not in str(raised.value)


def test_a_password_is_in_no_representation() -> None:
    assert "secret" not in repr(ZooKeeperCredentials("alice", "secret"))
