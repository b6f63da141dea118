"""The security protocol between client and brokers, from credentials and TLS.

| credentials | tls | Kafka's name |
|---|---|---|
| no | no | PLAINTEXT |
| no | yes | SSL; a client certificate is an identity as well |
| yes | no | SASL_PLAINTEXT |
| yes | yes | SASL_SSL |
"""

from poolkeeper.model.credentials import BrokerCredentials
from poolkeeper.model.specs import Tls


def settings(credentials: BrokerCredentials | None, tls: Tls | None) -> dict[str, object]:
    """Return the client library's settings, by the table above."""
    found: dict[str, object] = {"security_protocol": _protocol(credentials, tls)}
    if credentials is not None:
        found |= {
            "sasl_mechanism": credentials.mechanism.value,
            "sasl_plain_username": credentials.username,
            "sasl_plain_password": credentials.password,
        }
    if tls is not None:
        found |= {
            "ssl_cafile": tls.ca,
            "ssl_certfile": tls.certificate,
            "ssl_keyfile": tls.key,
            "ssl_check_hostname": True,
        }
    return found


def _protocol(credentials: BrokerCredentials | None, tls: Tls | None) -> str:
    if credentials is None:
        return "PLAINTEXT" if tls is None else "SSL"
    return "SASL_PLAINTEXT" if tls is None else "SASL_SSL"
