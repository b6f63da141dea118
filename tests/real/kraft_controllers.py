"""A KRaft controller that takes a cluster on ZooKeeper over, as Kafka's own migration does.

with started("3.9.2", brokers=spread(2, ""), settings=migrating(port)) as sandbox:
    with KraftController.start(sandbox, port, tmp_path) as controller:
        until(controller.leads, "it leads")
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.servers import artifacts
from real.support import body, kazoo

ID = 3000
_TOOL_S = 60
_LISTENERS = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "zookeeper.metadata.migration.enable": "true",
}


def migrating(port: int) -> tuple[tuple[str, str], ...]:
    """Return the settings of brokers that such a controller, at this port, may take over."""
    return (*_LISTENERS.items(), ("controller.quorum.voters", f"{ID}@127.0.0.1:{port}"))


@dataclass
class KraftController:
    """The only controller of its quorum."""

    sandbox: Sandbox
    process: subprocess.Popen[bytes]
    java: tuple[str, ...]

    @classmethod
    def start(cls, sandbox: Sandbox, port: int, folder: Path) -> Self:
        """Format its storage for the cluster and start it; `folder` keeps its data and its log."""
        tools = artifacts.find_tools()
        jars = artifacts.class_path(sandbox.spec.kafka, artifacts.cache_folder(), tools)
        java = (tools.java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        config, data = folder / "kraft.properties", folder / "kraft"
        settings = {
            **dict(migrating(port)),
            "process.roles": "controller",
            "node.id": ID,
            "listeners": f"CONTROLLER://127.0.0.1:{port}",
            "zookeeper.connect": sandbox.connect,
            "log.dirs": data,
            # Its default buffer of 128 MB is more than the whole heap.
            "log.cleaner.enable": "false",
        }
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        with kazoo(sandbox.connect) as client:
            cluster = json.loads(client.get("/cluster/id")[0])["id"]
        command = (*java, "-cp", f"{jars}/*")
        # An id may begin with `-`: as a word of its own it would be an option.
        named = f"--cluster-id={cluster}"
        _run(*command, "kafka.tools.StorageTool", "format", named, "-c", str(config))
        with (folder / "kraft.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "kafka.Kafka", str(config)], stdout=log, stderr=subprocess.STDOUT
            )
        return cls(sandbox, process, command)

    def run(self, *words: str) -> None:
        """Run one of Kafka's tools, by the name of its class."""
        _run(*self.java, *words)

    def leads(self) -> bool:
        """Whether `/controller` is its own."""
        with kazoo(self.sandbox.connect) as client:
            return body(client, "/controller").get("brokerid") == ID

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self.process.kill()
        self.process.wait(60)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
