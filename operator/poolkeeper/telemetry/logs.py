"""Log lines: as text for a person, as JSON for a machine; without secrets either way.

A record may carry, in `extra`, the `cluster` it is about and the `object`
(`{"kind": …, "namespace": …, "name": …}`); kopf's own records name their object in `k8s_ref`. Other
extra fields are passed on as they are. One record is one line: what is long is cut, line feeds are
escaped (in text, a traceback follows on indented lines), and so is what steers a terminal: messages
hold names that tenants chose.

Secrets are masked (`secret_masking`) in message, fields and traceback.
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from poolkeeper import wording
from poolkeeper.errors import PoolkeeperError
from poolkeeper.model.execution.outcomes import Why
from poolkeeper.telemetry.secret_masking import Secrets
from poolkeeper.text import visible, visible_json

MESSAGE_CHARS_MAX = 16 * 1024
EXCEPTION_CHARS_MAX = 32 * 1024
QUIET = ("kopf", "kazoo", "kubernetes", "urllib3", "asyncio", "aiohttp", "kafka")
"""Libraries that log every event, request or heartbeat; only their warnings are kept."""

LEAST = {
    "kopf._core.reactor.running": logging.CRITICAL,
    "kopf._core.reactor.orchestration": logging.CRITICAL,
    "kopf._cogs.clients.watching": logging.CRITICAL,
}
"""The lowest level logged.

The first warns at each start that kopf does not run in the main thread, which is intended. The
first two log a traceback each time kopf ends, as it does where a server, or what stands before it,
answers with what it does not expect. The last logs every failed attempt of every watch as an error,
hundreds an hour while a server is away. `controller.watch` finds the reason and reports it once.
"""

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {
    "asctime",
    "message",
    "cluster",
    "object",
    "k8s_ref",
    "k8s_skip",
    "settings",
}


def text_of(value: Why | PoolkeeperError) -> str:
    """Return the log text of a wait, an action, a refusal or an error."""
    if isinstance(value, PoolkeeperError):
        return wording.error_text(value)
    return wording.sentence(value)


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, then what the record is about."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _cut(self._secrets.mask(_message(record)), MESSAGE_CHARS_MAX),
        }
        cluster = getattr(record, "cluster", None)
        if cluster is not None:
            line["cluster"] = str(cluster)
        concerned = object_of(record)
        if concerned:
            line["object"] = concerned
        for key in sorted(set(vars(record)) - _OF_EVERY_RECORD - set(line)):
            line[key] = self._secrets.mask_values(getattr(record, key))
        exception = _cut(self._secrets.mask(_exception(self, record)), EXCEPTION_CHARS_MAX)
        if exception:
            line["exception"] = exception
        return visible_json(json.dumps(line, ensure_ascii=False))


class TextLines(logging.Formatter):
    """`2026-01-02T03:04:05.678Z INFO poolkeeper.zk.fencing [main Topic shop/orders] sentence`."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and indented lines for a traceback."""
        concerned = object_of(record)
        name = "/".join(concerned[key] for key in ("namespace", "name") if key in concerned)
        words = (str(getattr(record, "cluster", None) or ""), concerned.get("kind", ""), name)
        place = " ".join(word for word in words if word)
        message = _cut(self._secrets.mask(_message(record)), MESSAGE_CHARS_MAX)
        message = message.replace("\r", "\\r").replace("\n", "\\n")
        line = f"{time_of(record)} {record.levelname} {record.name} "
        line += f"[{place}] {message}" if place else message
        exception = _cut(self._secrets.mask(_exception(self, record)), EXCEPTION_CHARS_MAX)
        if exception:
            line += "\n    " + exception.replace("\n", "\n    ")
        return visible(line)


def set_up(
    stream: TextIO, *, as_json: bool, level: int = logging.INFO, secrets: Secrets
) -> logging.Handler:
    """Make the root logger write to `stream` only; called once, by `cli`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(secrets) if as_json else TextLines(secrets))
    root = logging.getLogger()
    for other in tuple(root.handlers):
        root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for name, least in LEAST.items():
        logging.getLogger(name).setLevel(least)
    return handler


def log_extra(
    kind: str, name: str, namespace: str = "", cluster: str | None = None
) -> dict[str, object]:
    """Return the `extra` that names the object that a log record is about."""
    named = {"kind": kind, "namespace": namespace, "name": name}
    extra: dict[str, object] = {"object": {key: value for key, value in named.items() if value}}
    return extra if cluster is None else {**extra, "cluster": cluster}


def object_of(record: logging.LogRecord) -> dict[str, str]:
    """Return kind, namespace and name of the object that a record names, if it names one."""
    found = getattr(record, "object", None) or getattr(record, "k8s_ref", None)
    if not isinstance(found, Mapping):
        return {}
    return {key: str(found[key]) for key in ("kind", "namespace", "name") if found.get(key)}


def time_of(record: logging.LogRecord) -> str:
    """Return the record's time in RFC 3339: UTC, milliseconds."""
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError) as error:
        return f"{record.msg!r} does not fit its arguments: {error}"


def _exception(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    text = ""
    if record.exc_info and record.exc_info[0] is not None:
        text = formatter.formatException(record.exc_info)
    if record.stack_info:
        text = f"{text}\n{record.stack_info}".strip("\n")
    return text


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else f"{text[:chars_max]} … ({len(text)} characters)"
