"""Why a TLS connection to a server fails, in words for the person who looks after certificates.

With TLS 1.3 a client has finished its handshake before the server looks at its certificate: a
refusal comes as an alert to what is read first.
"""

import ssl

CERTIFICATE_ALERTS = frozenset(
    {
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "TLSV1_ALERT_UNKNOWN_CA",
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    }
)
"""OpenSSL's names of what a server says that refuses a client's certificate, or misses it."""


def reason(error: ssl.SSLError) -> str:
    """Return what the error means."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message.rstrip('.')}"
        case ssl.SSLError(reason=alert) if alert in CERTIFICATE_ALERTS:
            return f"it demands a client certificate that it trusts ({alert})"
        case _:
            return f"no TLS with it ({error.reason or error})"
