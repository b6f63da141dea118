import pytest

from poolkeeper.errors import Forbidden, SecretForbidden, Unavailable
from poolkeeper.kube.client import secrets


class Objects:
    def __init__(self, body=None, error=None):
        self.body, self.error = body, error

    def get(self, path):
        assert path == "/api/v1/namespaces/ops/secrets/zk"
        if self.error:
            raise self.error
        return self.body


def read(data):
    return secrets.read(Objects({"data": data}), "ops", "zk")


def test_values_are_decoded():
    secret = read({"password": "czNjcmV0", "ca.crt": "AP8="})
    assert dict(secret) == {"password": b"s3cret", "ca.crt": b"\x00\xff"}
    assert secret.text("password") == "s3cret"


def test_no_representation_shows_a_value():
    assert repr(read({"password": "czNjcmV0"})) == "Secret(ops/zk: password)"


@pytest.mark.parametrize("data", [None, {}])
def test_a_secret_may_be_empty(data):
    assert dict(read(data)) == {}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        pytest.param(
            lambda: secrets.read(Objects(), "ops", "zk"),
            "there is no Secret zk in namespace ops",
            id="absent",
        ),
        pytest.param(lambda: read({"a": "%%"}), "Secret ops/zk is no base64", id="no-base64"),
        pytest.param(
            lambda: read({}).text("username"), "Secret ops/zk has no key username", id="no-key"
        ),
        pytest.param(
            lambda: read({"a": "AP8="}).text("a"), "key a of Secret ops/zk is no text", id="no-text"
        ),
    ],
)
def test_what_is_missing_is_named(act, message):
    with pytest.raises(Unavailable) as raised:
        act()
    assert str(raised.value) == message


@pytest.mark.parametrize("name", ["../configmaps/a", "a?watch=1", "a#b"])
def test_a_name_leads_to_no_other_object(name):
    class Asked(Objects):
        def get(self, path):
            assert not set("/?#") & set(path.removeprefix("/api/v1/namespaces/ops/secrets/"))

    with pytest.raises(Unavailable, match="there is no Secret"):
        secrets.read(Asked(), "ops", name)


def test_what_may_not_be_read_is_named_too():
    with pytest.raises(SecretForbidden) as raised:
        secrets.read(Objects(error=Forbidden("RBAC")), "ops", "zk")
    assert str(raised.value) == (
        "Secret ops/zk may not be read: add zk to credentials.secretNames of the chart (or to the"
        " operator's Role): RBAC"
    )
