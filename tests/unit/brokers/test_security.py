import pytest

from poolkeeper.brokers.security import settings
from poolkeeper.model.credentials import BrokerCredentials, Mechanism
from poolkeeper.model.specs import Tls

USER = BrokerCredentials("u", "secret", Mechanism.SCRAM_SHA_512)
SASL = {
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "u",
    "sasl_plain_password": "secret",
}
SSL = {
    "ssl_cafile": "ca.pem",
    "ssl_certfile": None,
    "ssl_keyfile": None,
    "ssl_check_hostname": True,
}


@pytest.mark.parametrize(
    ("credentials", "tls", "expected"),
    [
        pytest.param(None, None, {"security_protocol": "PLAINTEXT"}, id="open"),
        pytest.param(None, Tls("ca.pem"), {"security_protocol": "SSL", **SSL}, id="tls"),
        pytest.param(USER, None, {"security_protocol": "SASL_PLAINTEXT", **SASL}, id="sasl"),
        pytest.param(
            USER, Tls("ca.pem"), {"security_protocol": "SASL_SSL", **SASL, **SSL}, id="both"
        ),
    ],
)
def test_settings(credentials, tls, expected):
    assert settings(credentials, tls) == expected


def test_a_password_is_never_shown():
    assert "secret" not in repr(USER)
