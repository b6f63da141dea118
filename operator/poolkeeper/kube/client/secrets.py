"""Credentials in Secrets: read whenever a connection is made, never cached."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Protocol

from poolkeeper.errors import Forbidden, SecretForbidden, Unavailable
from poolkeeper.kube.client.references import segment


class SecretApi(Protocol):
    """The methods of `client.Api` that this module needs."""

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object."""


class Secret(Mapping[str, bytes]):
    """The decoded data of a Secret, by key; its `repr` shows no value."""

    def __init__(self, namespace: str, name: str, data: Mapping[str, bytes]) -> None:
        self.namespace, self.name = namespace, name
        self._data = dict(data)

    def __getitem__(self, key: str) -> bytes:
        return self._data[key]

    def __iter__(self) -> Any:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"Secret({self.namespace}/{self.name}: {', '.join(sorted(self._data))})"

    def text(self, key: str) -> str:
        """Return a value as text; raises `Unavailable` naming a key that is missing or no text."""
        try:
            return self._data[key].decode()
        except KeyError:
            raise Unavailable(f"Secret {self.namespace}/{self.name} has no key {key}") from None
        except UnicodeDecodeError:
            raise Unavailable(
                f"key {key} of Secret {self.namespace}/{self.name} is no text"
            ) from None


def read(api: SecretApi, namespace: str, name: str) -> Secret:
    """Return the Secret; raises `Unavailable` naming it if it is missing or unreadable.

    The chart's Role lists the Secrets that the operator may read, so that one which it does not
    list is forbidden, whether it exists or not: `SecretForbidden`.
    """
    try:
        found = api.get(f"/api/v1/namespaces/{namespace}/secrets/{segment(name)}")
    except Forbidden as forbidden:
        raise SecretForbidden(
            f"Secret {namespace}/{name} may not be read: add {name} to credentials.secretNames of"
            f" the chart (or to the operator's Role): {forbidden}"
        ) from forbidden
    if found is None:
        raise Unavailable(f"there is no Secret {name} in namespace {namespace}")
    try:
        values = {
            key: base64.b64decode(value, validate=True)
            for key, value in (found.get("data") or {}).items()
        }
    except (binascii.Error, ValueError) as broken:
        raise Unavailable(f"Secret {namespace}/{name} is no base64") from broken
    return Secret(namespace, name, values)
