"""A certificate and keys of tests, as text: no server has them, and they open nothing."""

from pathlib import Path

from poolkeeper.model.specs import Tls

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBbzCCARWgAwIBAgIUBG+6K9Zq0/85z9j/D1on2wJ1fSMwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBdDAgFw0yNjExMjYxNTQ1MDVaGA8yMTI2MTEwMjE1NDUwNVow
DDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABN4EpTZiNMju
uZyejrPD5DCpMBqaM1dKGfY+TQDfwXlrf4YMhFYQhoCeX/R4kaBOltoq8N8cPQQA
pLx/iptTGzOjUzBRMB0GA1UdDgQWBBQmpeVxsL7jPrWu1HJqXONWXBxbTzAfBgNV
HSMEGDAWgBQmpeVxsL7jPrWu1HJqXONWXBxbTzAPBgNVHRMBAf8EBTADAQH/MAoG
CCqGSM49BAMCA0gAMEUCIGQ/ex2AuvQSlmIZieLBNfTJtdQpUBtvhIHh+Sh7g/40
AiEA8BWIWIapdg10gRlrvl59OZLGQAQnE8nq6JgBu3PC99Q=
-----END CERTIFICATE-----
"""
EXPIRED_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBADCBpgIBATAKBggqhkjOPQQDAjAMMQowCAYDVQQDDAF0MB4XDTI1MDEwMTAw
MDAwMFoXDTI2MDEwMTAwMDAwMFowDDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABN4EpTZiNMjuuZyejrPD5DCpMBqaM1dKGfY+TQDfwXlrf4YM
hFYQhoCeX/R4kaBOltoq8N8cPQQApLx/iptTGzMwCgYIKoZIzj0EAwIDSQAwRgIh
AM6v+rzLxnAy841LlvS8IuruorZ2Jm9xzafHRD4P8UB7AiEA4QzE67JqOn/KRi94
GPPXKUITxvOVGj6j3pTgXh4bL38=
-----END CERTIFICATE-----
"""
"""Of the same key, until the first second of 2026."""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6927LlgLygLJvEZz
8RwfvvGzaA+A+GZ+mNnc204DBpmhRANCAATeBKU2YjTI7rmcno6zw+QwqTAamjNX
Shn2Pk0A38F5a3+GDIRWEIaAnl/0eJGgTpbaKvDfHD0EAKS8f4qbUxsz
-----END PRIVATE KEY-----
"""
OTHER_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5S4p7Cv/jou+svJv
PpDYhVC4589J+7T4zkwrlQZsj9ShRANCAAReOZGLYffcaEBsjjfKWlmulFlCEF5e
QJiTcMpyzadXdRos4ErlAvxigHb1HLjDWH7R+EjZhO2rsrCM3qK4ZZai
-----END PRIVATE KEY-----
"""
"""Of no certificate."""
ENCRYPTED_KEY = """\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgVD8fEvv59WwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECuu6/i1yns4Cz1NIvRUO9kEgZDJ
OZM2YYiNf7BKWyThq6hEhmekoF5JkgfKVpAN5V4QHsWNeh2CQzYDi1wVW1oFGVyx
czpgOywNoEPxVHOvxNfywbuXyzTRfd7Fvpe1SAM/4b6vdC1smNuIvlCEW0bJcFO9
vIArGRsVJAU1L4CTHaPuruBnJLDCIrhQlkr7gi3+ujpYQ3S3wE/6Mwr3DT3S7F0=
-----END ENCRYPTED PRIVATE KEY-----
"""
"""`KEY`, with a password."""


def of_a_client(folder: Path, certificate: str, ca: Path) -> Tls:
    """Write a certificate of `KEY`, and the key; return what a client needs that has them."""
    own, key = folder / "tls.crt", folder / "tls.key"
    own.write_text(certificate)
    key.write_text(KEY)
    return Tls(ca=str(ca), certificate=str(own), key=str(key))
