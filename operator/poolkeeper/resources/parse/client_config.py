"""The file of `--client-config`: credentials and TLS for ZooKeeper and for the brokers.

    zookeeper:
      username: poolkeeper
      password: "…"
      scheme: digest              # digest (default) | sasl
      tls: {ca: ca.pem, certificate: me.pem, key: me.key}
    brokers:
      securityProtocol: SASL_SSL  # default: what the rest amounts to
      saslMechanism: PLAIN        # PLAIN (default) | SCRAM-SHA-256 | SCRAM-SHA-512
      username: poolkeeper
      password: "…"
      tls: {ca: ca.pem}

Problems name file, line and field as those of manifests do, but never a value: any may be a secret.
Paths are relative to the file's folder; those of a pipe are so to the current folder.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poolkeeper.errors import InvalidInput, Problem, wrong_file
from poolkeeper.model.credentials import (
    BrokerCredentials,
    ClientConfig,
    Mechanism,
    Scheme,
    ZooKeeperCredentials,
)
from poolkeeper.model.file_kinds import FileKind, mistaken_kind
from poolkeeper.model.specs import Tls
from poolkeeper.resources.parse import files, schemas, yaml_documents
from poolkeeper.resources.parse.locations import Findings
from poolkeeper.resources.parse.schema_validator import SchemaValidator

_TEXT = {"type": "string", "minLength": 1, "maxLength": 4096}
_TLS = {
    "type": "object",
    "properties": {"ca": _TEXT, "certificate": _TEXT, "key": _TEXT},
}
_ZOOKEEPER = {
    "username": _TEXT,
    "password": _TEXT,
    "scheme": {"type": "string", "enum": [scheme.value for scheme in Scheme], "default": "digest"},
    "tls": _TLS,
}
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = [mechanism.value for mechanism in Mechanism]
_BROKERS = {
    "securityProtocol": {"type": "string", "enum": list(_PROTOCOLS)},
    "saslMechanism": {"type": "string", "enum": _MECHANISMS, "default": "PLAIN"},
    "username": _TEXT,
    "password": _TEXT,
    "tls": _TLS,
}
_SCHEMA = schemas.prepare_schema(
    {
        "type": "object",
        "properties": {
            "zookeeper": {"type": "object", "properties": _ZOOKEEPER},
            "brokers": {"type": "object", "properties": _BROKERS},
        },
    }
)
_VALIDATOR = SchemaValidator(_SCHEMA)


def load(path: Path) -> ClientConfig:
    """Load the configuration file; raises `InvalidInput` with all problems."""
    text = files.text_of(path)
    if isinstance(text, Problem):
        raise InvalidInput([text])
    return parse(text, path)


def parse(text: str, path: Path, folder: Path | None = None) -> ClientConfig:
    """Parse the text of the file at `path`; raises `InvalidInput` with all problems.

    `folder`: what its paths are relative to, if that is not the file's folder.
    """
    parsed, problems = yaml_documents.parse(text, str(path), secret=True)
    if parsed and (said := mistaken_kind(parsed[0].body, FileKind.CLIENT_CONFIG)):
        raise wrong_file(path, said)
    if len(parsed) != 1 and not problems:
        message = f"holds {len(parsed)} documents (expected one)"
        problems.append(Problem(str(path), 0, "", message))
    if problems:
        raise InvalidInput(problems)
    document = parsed[0]
    findings = Findings(document.places)
    findings.problems += document.problems
    if not isinstance(document.body, dict):
        findings.add((), "has no fields (expected zookeeper or brokers)")
        raise InvalidInput(findings.problems)
    checked = schemas.check_against(_SCHEMA, _VALIDATOR, document.body, findings, secret=True)
    config = _config(schemas.with_defaults(_SCHEMA, checked.whole), folder or path.parent, findings)
    if findings.problems:
        raise InvalidInput(findings.problems)
    return config


def _config(body: Mapping[str, Any], folder: Path, findings: Findings) -> ClientConfig:
    zookeeper, brokers = body.get("zookeeper", {}), body.get("brokers", {})
    zookeeper_tls = _tls("zookeeper", zookeeper, folder, findings)
    brokers_tls = _tls("brokers", brokers, folder, findings)
    zookeeper_user = _user("zookeeper", zookeeper, findings)
    brokers_user = _user("brokers", brokers, findings)
    protocol = brokers.get("securityProtocol")
    if protocol and protocol.endswith("SSL") and brokers_tls is None:
        brokers_tls = Tls()  # TLS with the system's certificate authorities
    _check_protocol(protocol, brokers_user is not None, brokers_tls is not None, findings)
    return ClientConfig(
        zookeeper_user and ZooKeeperCredentials(*zookeeper_user, Scheme(zookeeper["scheme"])),
        zookeeper_tls,
        brokers_user and BrokerCredentials(*brokers_user, Mechanism(brokers["saslMechanism"])),
        brokers_tls,
    )


def _user(part: str, found: Mapping[str, Any], findings: Findings) -> tuple[str, str] | None:
    if "username" in found and "password" in found:
        return found["username"], found["password"]
    for name, other in (("username", "password"), ("password", "username")):
        wrong = any(problem.field == f"{part}.{name}" for problem in findings.problems)
        if other in found and not wrong:
            findings.add((part, name), f"is missing (expected with the {other})")
    return None


def _tls(part: str, found: Mapping[str, Any], folder: Path, findings: Findings) -> Tls | None:
    if "tls" not in found:
        return None
    tls = found["tls"]
    if ("certificate" in tls) != ("key" in tls):
        missing, other = ("key", "certificate") if "certificate" in tls else ("certificate", "key")
        findings.add((part, "tls", missing), f"is missing (expected with the {other})")
    paths = {name: str(folder / file) for name, file in tls.items()}
    for name, file in paths.items():
        if not os.path.isfile(file):  # `Path.is_file` raises where it may not be looked for
            findings.add((part, "tls", name), "names no file (expected a PEM file)")
    there = {name: file for name, file in paths.items() if os.path.isfile(file)}
    from poolkeeper import tls_files  # the library of TLS takes long to import, and few name files

    for name, problem in tls_files.problems(_of(there)).items():
        findings.add((part, "tls", name), problem)
    return _of(paths)


def _of(paths: Mapping[str, str]) -> Tls:
    return Tls(paths.get("ca"), paths.get("certificate"), paths.get("key"))


def _check_protocol(protocol: str | None, user: bool, tls: bool, findings: Findings) -> None:
    if protocol is None:
        return
    if protocol.startswith("SASL") != user:
        expected = "a username and a password with it" if not user else "SASL_SSL or SASL_PLAINTEXT"
        findings.add(("brokers", "securityProtocol"), f"is {protocol} (expected {expected})")
    elif tls and not protocol.endswith("SSL"):
        message = f"is {protocol}, and tls is said (expected SSL or SASL_SSL)"
        findings.add(("brokers", "securityProtocol"), message)
