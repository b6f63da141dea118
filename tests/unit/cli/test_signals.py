"""A signal ends any command as Ctrl-C does, and nothing that it made for itself stays behind."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conditions import until
from poolkeeper.cli.input.interrupts import INTERRUPTED

BEGINS_S = 60.0
ENDS_S = 30.0
KEY = b"a private key\n"
PEM = base64.b64encode(KEY).decode()
PLUGIN = "from poolkeeper.__main__ import plugin; plugin()"
HEED = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
"""What starts the tests may ignore the signal, as `nohup` does."""


@pytest.fixture
def mute() -> Iterator[str]:
    """The URL of an API server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"


def kubeconfig(server: str) -> str:
    user = {"client-certificate-data": PEM, "client-key-data": PEM}
    return json.dumps(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": user}],
        }
    )


def holding_the_key(folder: Path) -> list[Path]:
    """Files that hold the key. Python tries folders with files of a moment, which hold another."""
    return [file for file in folder.iterdir() if KEY in content_of(file)]


def content_of(file: Path) -> bytes:
    """What is in it; nothing if it is gone."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_key_of_the_kubeconfig_stays_in_no_file(mute: str, tmp_path: Path, number: int) -> None:
    work, config = tmp_path / "tmp", tmp_path / "config"
    work.mkdir()
    config.write_text(kubeconfig(mute))
    environment = {**os.environ, "TMPDIR": str(work), "KUBECONFIG": str(config)}
    words = [sys.executable, "-c", HEED + PLUGIN, "status", "-o", "json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, env=environment, text=True, **pipes) as command:
        try:
            until(lambda: holding_the_key(work), "it has its credentials", BEGINS_S)
            command.send_signal(number)
            assert command.wait(ENDS_S) == INTERRUPTED
            assert command.stdout is not None
            assert json.load(command.stdout)["errors"][0]["message"] == "interrupted"
        finally:
            command.kill()
    assert holding_the_key(work) == []


FOLLOWED = """
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec: {zookeeper: {connect: "127.0.0.1:1"}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_news_that_a_full_disk_does_not_take_change_no_exit_code(
    tmp_path: Path, number: int, code: int
) -> None:
    (tmp_path / "main.yaml").write_text(FOLLOWED, encoding="utf-8")
    words = [
        "-c",
        HEED + "from poolkeeper.__main__ import main; main()",
        "run",
        "-f",
        str(tmp_path),
    ]
    with (
        open("/dev/full", "wb") as full,
        subprocess.Popen(
            [sys.executable, *words], stdout=full, stderr=subprocess.PIPE, text=True
        ) as command,
    ):
        try:
            assert command.stderr is not None
            assert "the work goes on" in command.stderr.readline()
            command.send_signal(number)
            assert command.wait(ENDS_S) == code
        finally:
            command.kill()
