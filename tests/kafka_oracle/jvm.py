"""The process that answers: compiled once for each state of its sources, started when asked first.

A question that is not answered by its deadline ends the process and the test, with what the process
said last.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any

from java_classes import compiled_folder, pom_of
from poolkeeper.sandbox.servers import artifacts

SOURCES = Path(__file__).with_name("java")
ANSWER_TIMEOUT_S = 120
END_TIMEOUT_S = 30
_JSON = "com.fasterxml.jackson.core:jackson"
_JSON_JARS = tuple(f"{_JSON}-{part}:2.16.2" for part in ("annotations", "core", "databind"))
_LOG_JARS = ("org.slf4j:slf4j-api:1.7.36", "org.slf4j:slf4j-simple:1.7.36")
RELEASES = {
    "3.9.2": ("org.apache.kafka:kafka-tools:3.9.2",),
    "2.2.2": ("org.apache.kafka:kafka-clients:2.2.2", *_JSON_JARS, *_LOG_JARS),
}
"""The jars of a release beside those with which the sandbox runs it, if it does."""

_OPTIONS = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-Xss16m"),
    *("-Dfile.encoding=UTF-8", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"),
)


@dataclass(frozen=True, slots=True)
class Thrown:
    """What Kafka threw: the name of its class, and its message."""

    error: str
    message: str


class Oracle:
    """A release of Kafka to be asked; its JVM runs from the first question to `close`."""

    def __init__(self, release: str) -> None:
        self._release = release
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process

    def ask(self, kind: str, inputs: Iterable[Any]) -> list[Any]:
        """Return the answer to each input of a kind: a JSON value, or `Thrown`."""
        if self._process is None:
            self._process = self._start()
        line = json.dumps({"kind": kind, "inputs": list(inputs)}).encode()
        deadline = Timer(ANSWER_TIMEOUT_S, self._process.kill)
        deadline.start()
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
            answers = self._process.stdout.readline()
        except BrokenPipeError:
            answers = b""
        finally:
            deadline.cancel()
        assert answers, f"Kafka {self._release} does not answer to {kind}: {self._said()}"
        return [
            Thrown(each["error"], each["message"]) if "error" in each else each["output"]
            for each in json.loads(answers)
        ]

    def close(self) -> None:
        """End the JVM, if it runs."""
        if self._process is not None:
            self._process.stdin.close()
            try:
                self._process.wait(END_TIMEOUT_S)
            finally:
                self._process.kill()
                self._process.wait(END_TIMEOUT_S)
                self._process.stdout.close()
                self._process = None
        self._log.close()

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        tools, cache = artifacts.find_tools(), artifacts.cache_folder()
        folders = [artifacts.jars(f"oracle-{self._release}", self._pom(), cache, tools)]
        if self._release in artifacts.versions():
            folders.append(artifacts.class_path(self._release, cache, tools))
        families = sorted((SOURCES / self._release).glob("*Kinds.java"))
        sources = [*sorted(SOURCES.glob("*.java")), *families]
        classes = compiled_folder(f"oracle-{self._release}", sources, folders)
        path = ":".join([str(classes), *(f"{folder}/*" for folder in folders)])
        names = [_class_name(family) for family in families]
        return subprocess.Popen(
            [tools.java, *_OPTIONS, "-cp", path, "oracle.Oracle", *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def _pom(self) -> str:
        return pom_of(RELEASES[self._release])

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]


def _class_name(source: Path) -> str:
    package = re.search(r"^package ([\w.]+);", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert package, f"{source.name} names no package"
    return f"{package[1]}.{source.stem}"
