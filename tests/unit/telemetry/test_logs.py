"""Log lines as whole texts: JSON, text, masks, bounds, and what set-up leaves quiet."""

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from poolkeeper.telemetry import logs
from poolkeeper.telemetry.logs import JsonLines, TextLines
from poolkeeper.telemetry.secret_masking import Secrets
from poolkeeper.text import visible


def record(message: str, *arguments: object, level: int = logging.INFO, **extra: object):
    made = logging.LogRecord(
        "poolkeeper.controller.loop", level, "loops.py", 1, message, arguments, None
    )
    made.created = 1767323045.678
    vars(made).update(extra)
    return made


TIME = "2026-01-02T03:04:05.678Z"
TOPIC = {"kind": "Topic", "namespace": "shop", "name": "orders"}
PLAIN = {"time": TIME, "level": "info", "logger": "poolkeeper.controller.loop"}


@pytest.mark.parametrize(
    ("given", "as_json", "as_text"),
    [
        pytest.param(
            record("stage %d begins", 3),
            {**PLAIN, "message": "stage 3 begins"},
            f"{TIME} INFO poolkeeper.controller.loop stage 3 begins",
            id="plain",
        ),
        pytest.param(
            record("moved", **logs.log_extra("Topic", "orders", "shop", "main")),
            {**PLAIN, "message": "moved", "cluster": "main", "object": TOPIC},
            f"{TIME} INFO poolkeeper.controller.loop [main Topic shop/orders] moved",
            id="about-an-object-of-a-cluster",
        ),
        pytest.param(
            record("drained", **logs.log_extra("ResourcePool", "fast")),
            {**PLAIN, "message": "drained", "object": {"kind": "ResourcePool", "name": "fast"}},
            f"{TIME} INFO poolkeeper.controller.loop [ResourcePool fast] drained",
            id="about-an-object-without-a-namespace",
        ),
        pytest.param(
            record("late", level=logging.WARNING, k8s_ref={**TOPIC, "uid": "1"}, k8s_skip=False),
            {**PLAIN, "level": "warning", "message": "late", "object": TOPIC},
            f"{TIME} WARNING poolkeeper.controller.loop [Topic shop/orders] late",
            id="kopf-names-its-object-in-its-own-way",
        ),
        pytest.param(
            record("planned", plan="sha256:1", seconds=1.5, brokers=(1, 2), odd={1: TOPIC}),
            {
                **PLAIN,
                "message": "planned",
                "brokers": [1, 2],
                "odd": {"1": TOPIC},
                "plan": "sha256:1",
                "seconds": 1.5,
            },
            f"{TIME} INFO poolkeeper.controller.loop planned",
            id="other-fields-pass",
        ),
        pytest.param(
            record("two\nlines\r\nof “text”"),
            {**PLAIN, "message": "two\nlines\r\nof “text”"},
            f"{TIME} INFO poolkeeper.controller.loop two\\nlines\\r\\nof “text”",
            id="one-record-is-one-line",
        ),
        pytest.param(
            record("pool \x1b]0;x\x07\x9b2J \u202eelif\u2028"),
            {**PLAIN, "message": "pool \x1b]0;x\x07\x9b2J \u202eelif\u2028"},
            f"{TIME} INFO poolkeeper.controller.loop pool \\x1b]0;x\\x07\\x9b2J \\u202eelif\\u2028",
            id="what-steers-a-terminal-is-escaped",
        ),
        pytest.param(
            record("%d of %s", 1),
            {
                **PLAIN,
                "message": "'%d of %s' does not fit its arguments:"
                " not enough arguments for format string",
            },
            f"{TIME} INFO poolkeeper.controller.loop '%d of %s' does not fit its arguments:"
            " not enough arguments for format string",
            id="a-call-that-is-wrong-is-still-a-line",
        ),
        pytest.param(
            record("hunter22 is the password", token="hunter22", n=1234, list=["hunter22"]),
            {
                **PLAIN,
                "message": "*** is the password",
                "list": ["***"],
                "n": 1234,
                "token": "***",
            },
            f"{TIME} INFO poolkeeper.controller.loop *** is the password",
            id="secrets-are-masked-in-message-and-fields",
        ),
        pytest.param(
            record('%s aHVudGVyMjI= {"p": "a\\"b\\\\c"} a"b\\c', "x"),
            {**PLAIN, "message": 'x *** {"p": "***"} ***'},
            f'{TIME} INFO poolkeeper.controller.loop x *** {{"p": "***"}} ***',
            id="secrets-are-masked-in-base64-and-json-as-well",
        ),
    ],
)
def test_a_record_becomes_this_line(
    given: logging.LogRecord, as_json: dict[str, object], as_text: str
) -> None:
    secrets = Secrets()
    secrets.add("main", ["hunter22", 'a"b\\c', "1234", "abc"])
    line = JsonLines(secrets).format(given)
    assert "\n" not in line
    assert line == visible(line)
    assert json.loads(line) == as_json
    assert list(json.loads(line)) == list(as_json)
    assert TextLines(secrets).format(given) == as_text


def test_a_traceback_is_a_field_or_follows_on_indented_lines() -> None:
    secrets = Secrets()
    secrets.add("main", ["hunter22"])
    try:
        raise ValueError("bad password hunter22")
    except ValueError:
        given = record("pass failed", exc_info=sys.exc_info())
    exception = json.loads(JsonLines(secrets).format(given))["exception"]
    assert exception.startswith("Traceback (most recent call last):\n")
    assert exception.endswith("\nValueError: bad password ***")
    lines = TextLines(secrets).format(given).splitlines()
    assert lines[0] == f"{TIME} INFO poolkeeper.controller.loop pass failed"
    assert [line.removeprefix("    ") for line in lines[1:]] == exception.splitlines()
    assert all(line.startswith("    ") for line in lines[1:])


def test_what_is_long_is_cut_after_it_was_masked() -> None:
    secrets = Secrets()
    secrets.add("main", ["hunter22"])
    start = "x" * (logs.MESSAGE_CHARS_MAX - 4)
    line = json.loads(JsonLines(secrets).format(record(start + "hunter22" + "y" * 9000)))
    assert line["message"] == start + "***y … (25383 characters)"


def test_secrets_are_those_that_each_owner_has_now() -> None:
    secrets = Secrets()
    secrets.add("main", ["first-one", "first"])
    secrets.add("other", ["second"])
    seen = [secrets.mask("first-one first second third")]
    secrets.add("main", ["third"])
    seen.append(secrets.mask("first-one first second third"))
    secrets.add("main", [])
    secrets.add("other", [])
    seen.append(secrets.mask("first-one first second third"))
    assert seen == [
        "*** *** *** third",
        "first-one first *** ***",
        "first-one first second third",
    ]


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, put back as it was."""
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    quiet = {name: logging.getLogger(name).level for name in (*logs.QUIET, *logs.LEAST)}
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)
    for name, before in quiet.items():
        logging.getLogger(name).setLevel(before)


def test_set_up_writes_one_object_a_line_and_keeps_libraries_quiet(root: logging.Logger) -> None:
    stream = io.StringIO()
    logs.set_up(io.StringIO(), as_json=False, secrets=Secrets())
    logs.set_up(stream, as_json=True, level=logging.DEBUG, secrets=Secrets())
    logging.getLogger("poolkeeper.controller.loop").debug(
        "ours", extra=logs.log_extra("Topic", "orders", "shop")
    )
    logging.getLogger("kopf.objects").info("Handler 'on_topic' succeeded.")
    logging.getLogger("kopf._cogs.clients.watching").error("Request attempt #7 failed")
    logging.getLogger("kopf._core.reactor.orchestration").error("Watcher for topics has failed")
    logging.getLogger("kopf._core.reactor.running").error("multitasker has failed", exc_info=True)
    logging.getLogger("kazoo.client").info("Zookeeper session established")
    logging.getLogger("kazoo.client").warning("Connection dropped")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["logger"], line["message"]) for line in lines] == [
        ("poolkeeper.controller.loop", "ours"),
        ("kazoo.client", "Connection dropped"),
    ]
    assert lines[0]["object"] == TOPIC
