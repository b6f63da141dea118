"""A signal ends any command as Ctrl-C does; nothing that it made for itself stays behind."""

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

import pem_texts
from poolkeeper.cli.input.interrupts import INTERRUPTED

BEGINS_S = 60.0
ENDS_S = 30.0
KEY = pem_texts.KEY.encode()
MAIN = "from poolkeeper.__main__ import main; main()"
PLUGIN = "from poolkeeper.__main__ import plugin; plugin()"
HEED = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
"""What starts the tests may ignore the signal, as `nohup` does."""


@pytest.fixture
def mute() -> Iterator[socket.socket]:
    """An API server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(BEGINS_S)
        yield listener


def kubeconfig(server: str) -> str:
    pems = {"client-certificate-data": pem_texts.CERTIFICATE, "client-key-data": pem_texts.KEY}
    user = {field: base64.b64encode(pem.encode()).decode() for field, pem in pems.items()}
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
    return [file for file in folder.iterdir() if KEY in file.read_bytes()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_key_of_the_kubeconfig_is_in_no_file(
    mute: socket.socket, tmp_path: Path, number: int
) -> None:
    """Its client has loaded it once it says something to the server."""
    work, config = tmp_path / "tmp", tmp_path / "config"
    work.mkdir()
    config.write_text(kubeconfig(f"https://127.0.0.1:{mute.getsockname()[1]}"))
    environment = {**os.environ, "TMPDIR": str(work), "KUBECONFIG": str(config)}
    words = [sys.executable, "-c", HEED + PLUGIN, "status", "-o", "json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, env=environment, text=True, **pipes) as command:
        try:
            connection, _ = mute.accept()
            with connection:
                connection.settimeout(BEGINS_S)
                assert connection.recv(1)
                command.send_signal(number)
                code = command.wait(ENDS_S)
            if number != signal.SIGKILL:
                assert command.stdout is not None
                assert json.load(command.stdout)["errors"][0]["message"] == "interrupted"
                assert code == INTERRUPTED
        finally:
            command.kill()
    assert holding_the_key(work) == []


SLOW_END = "import atexit, time; atexit.register(lambda: (print('ends', flush=True), {})); "


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_when_the_command_has_ended_changes_no_exit_code(number: int) -> None:
    ends = SLOW_END.format("__import__('sys').stdin.read()")
    words = [sys.executable, "-c", HEED + ends + MAIN, "version"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as command:
        try:
            assert command.stdin is not None
            assert command.stdout is not None
            assert any(line == "ends\n" for line in command.stdout)
            command.send_signal(number)
            command.stdin.close()
            assert command.wait(ENDS_S) == 0
        finally:
            command.kill()


@pytest.mark.slow
def test_a_command_whose_python_does_not_end_is_ended_by_another_signal() -> None:
    words = [sys.executable, "-c", SLOW_END.format("time.sleep(1000)") + MAIN, "version"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as command:
        try:
            assert command.stdout is not None
            assert any(line == "ends\n" for line in command.stdout)
            command.send_signal(signal.SIGTERM)
            assert command.wait(ENDS_S) == 0
        finally:
            command.kill()


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
        HEED + MAIN,
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
