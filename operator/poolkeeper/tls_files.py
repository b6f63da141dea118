"""What is wrong with the PEM files of a TLS client, found before anything is connected to.

The client libraries load these files at every attempt to connect, until their deadline, and do not
tell which file is wrong. For a key that is encrypted OpenSSL asks for the password at the terminal.
"""

import ssl
from collections.abc import Callable

from poolkeeper.errors import Forbidden
from poolkeeper.model.specs import Tls

NO_CERTIFICATE = "holds no certificate (expected PEM)"
NO_KEY = "holds no private key (expected PEM)"
ENCRYPTED = "holds a key that is encrypted (expected one without a password)"
OTHER_KEY = "holds a key that does not belong to the certificate"


class _PasswordAsked(Exception):
    """OpenSSL asks for the password of a key."""


def problems(tls: Tls) -> dict[str, str]:
    """Return what is wrong with each file, by field of `Tls`; empty if all can be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found = {
        "ca": _certificate_problem(context, tls.ca),
        "certificate": _certificate_problem(context, tls.certificate),
    }
    if tls.certificate is not None and tls.key is not None and not found["certificate"]:
        found["key"] = _key_problem(context, tls.certificate, tls.key)
    return {field: problem for field, problem in found.items() if problem}


def require_usable(tls: Tls | None) -> None:
    """Raise `Forbidden` naming the first file that cannot be used."""
    if tls is None:
        return
    paths = {"ca": tls.ca, "certificate": tls.certificate, "key": tls.key}
    for field, problem in problems(tls).items():
        raise Forbidden(f"tls.{field}: {paths[field]} {problem}")


def _certificate_problem(context: ssl.SSLContext, path: str | None) -> str:
    if path is None:
        return ""
    return _problem(lambda: context.load_verify_locations(path), NO_CERTIFICATE)


def _key_problem(context: ssl.SSLContext, certificate: str, key: str) -> str:
    try:
        return _problem(lambda: context.load_cert_chain(certificate, key, _no_password), NO_KEY)
    except _PasswordAsked:
        return ENCRYPTED


def _problem(load: Callable[[], None], otherwise: str) -> str:
    try:
        load()
    except ssl.SSLError as error:
        return OTHER_KEY if error.reason == "KEY_VALUES_MISMATCH" else otherwise
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def _no_password() -> str:
    raise _PasswordAsked
