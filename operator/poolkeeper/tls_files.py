"""What is wrong with the PEM files of a TLS client, found before anything is connected to.

The client libraries load these files at every attempt to connect, until their deadline, and do not
tell which file is wrong. For a key that is encrypted OpenSSL asks for the password at the terminal.

A certificate out of its dates is no problem of a file: servers that do not ask for it do not look
at them, and those that do tell no reason. So its dates are told where a server is not reached. The
standard library reads them of a peer's certificate alone, and so they are read here from its DER:
SEQUENCE { SEQUENCE { [0] version, serial, algorithm, issuer, SEQUENCE { from, until }, … }, … }.
"""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from poolkeeper.errors import Forbidden
from poolkeeper.model.specs import Tls

NO_CERTIFICATE = "holds no certificate (expected PEM)"
NO_KEY = "holds no private key (expected PEM)"
ENCRYPTED = "holds a key that is encrypted (expected one without a password)"
OTHER_KEY = "holds a key that does not belong to the certificate"


_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_VERSION, _UTC_TIME = 0xA0, 0x17
"""Tags of DER: of a certificate's version, which the first version lacks, and of short dates."""


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


def dates_remark(certificate: str | None, now: datetime | None = None) -> str:
    """Return "; …" that says so if a client's certificate is out of its dates, otherwise ""."""
    try:
        since, until = _validity(Path(certificate or "").read_text(encoding="ascii"))
    except (OSError, ValueError, IndexError):
        return ""
    at = now or datetime.now(UTC)
    if at > until:
        return f"; the client's certificate expired at {until:%Y-%m-%d %H:%M:%S} UTC: renew it"
    if at < since:
        return f"; the client's certificate is valid only from {since:%Y-%m-%d %H:%M:%S} UTC on"
    return ""


def _validity(pem: str) -> tuple[datetime, datetime]:
    """Return from when and until when the first certificate is valid, which is the client's own.

    Raises ValueError or IndexError for what is none.
    """
    text = pem[pem.index(_BEGIN) : pem.index(_END) + len(_END)]
    der = ssl.PEM_cert_to_DER_cert(text)
    _, at, _ = _element(der, _element(der, 0)[1])
    tag, _, end = _element(der, at)
    for _ in range(3 if tag == _VERSION else 2):  # up to the issuer
        _, _, end = _element(der, end)
    _, at, _ = _element(der, end)
    _, _, middle = _element(der, at)
    return _time(der, at), _time(der, middle)


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Return the tag of the element at this offset, and where its content begins and ends."""
    length, begin = der[at + 1], at + 2
    if length >= 0x80:
        begin += length - 0x80
        length = int.from_bytes(der[at + 2 : begin], "big")
    return der[at], begin, begin + length


def _time(der: bytes, at: int) -> datetime:
    tag, begin, end = _element(der, at)
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(der[begin:end].decode("ascii"), form).replace(tzinfo=UTC)


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
