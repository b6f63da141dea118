"""A real S3 server for tests: versitygw over a folder, on the loopback address.

    def test_tables(s3, spark):
        s3.uri("tables")                    # s3a://tables-1f…/tables, for Spark
        s3.conf()                           # spark.hadoop.fs.s3a.bucket.NAME.…, for a session
        s3.hadoop()                         # the same without spark.hadoop.
        s3.files(), s3.path("tables")       # pyarrow's file system, and the path there
        s3.wrong_secret(), s3.wrong_bucket()    # the same server, as nobody may use it
        s3.server.stop(); s3.server.start()     # an outage; the objects stay

A server is one per worker process and dies with it; a bucket is a test's own. Settings are said by
bucket, so that several of them, good ones and bad ones, can be in one session. Hadoop keeps a file
system by its bucket: another secret for a bucket that was used already would not be looked at.

Spark needs jars for s3a (`jars`), when its JVM starts: `spark.jars` of the first session counts.
"""

import shutil
import signal
import socket
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from conditions import until
from control_plane import building
from poolkeeper.sandbox.servers import artifacts
from poolkeeper.sandbox.servers.processes import Child, ProcessGroup

ADDRESS = "127.0.0.1"
REGION = "us-east-1"
ACCESS, SECRET = "poolkeeper", "of-tests-only"
HEALTH = "/health"
READY_S = 120.0
POM = building.CHECKOUT / "requirements" / "s3a.xml"


def jars() -> str:
    """Return what `spark.jars` has to be for s3a; Maven brings them at the first call."""
    text, tools = POM.read_text(encoding="utf-8"), artifacts.find_tools()
    folder = artifacts.jars("s3a", text, artifacts.cache_folder(), tools)
    return ",".join(map(str, sorted(folder.glob("*.jar"))))


class S3Server:
    """A server over `folder`: what lies there outlives its stops."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server((ADDRESS, 0)) as free:
            self.address = f"{ADDRESS}:{free.getsockname()[1]}"
        (folder / "buckets").mkdir(parents=True)
        (folder / "metadata").mkdir()
        (folder / "processes").touch()
        self._group = ProcessGroup(folder / "processes", tied=True)
        self._child: Child | None = None

    def start(self, *, read_only: bool = False) -> None:
        """Start it and wait until it answers."""
        words = ["--quiet", "--port", self.address, "--region", REGION, "--health", HEALTH]
        words += ["--access", ACCESS, "--secret", SECRET, *(["--readonly"] if read_only else [])]
        # File systems differ in the attributes they keep: metadata have a folder of their own.
        words += ["posix", "--sidecar", str(self.folder / "metadata"), str(self.folder / "buckets")]
        self._child = self._group.start(
            "s3", [str(building.versitygw()), *words], self.folder / "log"
        )
        until(self._serves, "the S3 server answers", READY_S)

    def stop(self) -> None:
        """Kill it; requests are refused until it is started again."""
        if self._child is not None:
            child, self._child = self._child, None
            if child.exit_code() is None:
                child.signal(signal.SIGKILL)
                child.wait(READY_S)

    def close(self) -> None:
        """Kill it for good."""
        self.stop()
        self._group.close()

    def _serves(self) -> bool:
        assert self._child is not None
        assert self._child.exit_code() is None, self._child.last_words()
        try:
            with urllib.request.urlopen(f"http://{self.address}{HEALTH}", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket, and who asks for it."""

    server: S3Server
    name: str
    access: str = ACCESS
    secret: str = SECRET
    proxy: str = ""

    @property
    def address(self) -> str:
        """Where it is asked for: the server's address, or that of a proxy before it."""
        return self.proxy or self.server.address

    @property
    def folder(self) -> Path:
        """Where its objects lie as files, to look at and to damage."""
        return self.server.folder / "buckets" / self.name

    def make(self) -> "Bucket":
        """Make it, and return it."""
        self.files().create_dir(self.name)
        return self

    def uri(self, *parts: str) -> str:
        """Return the place as Spark names it."""
        return "/".join((f"s3a://{self.name}", *parts))

    def path(self, *parts: str) -> str:
        """Return the place as pyarrow's file system names it."""
        return "/".join((self.name, *parts))

    def hadoop(self) -> Mapping[str, str]:
        """Return the settings of Hadoop's client; failures are told soon."""
        said = {
            "endpoint": f"http://{self.address}",
            "endpoint.region": REGION,
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "access.key": self.access,
            "secret.key": self.secret,
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            "attempts.maximum": "3",
            "retry.limit": "2",
            "connection.timeout": "30s",
        }
        return {f"fs.s3a.bucket.{self.name}.{key}": value for key, value in said.items()}

    def conf(self) -> Mapping[str, str]:
        """Return the same as settings of a session of Spark."""
        return {f"spark.hadoop.{key}": value for key, value in self.hadoop().items()}

    def files(self, **more: Any) -> Any:
        """Return pyarrow's file system."""
        from pyarrow import fs

        return fs.S3FileSystem(
            **{
                "access_key": self.access,
                "secret_key": self.secret,
                "endpoint_override": self.address,
                "scheme": "http",
                "region": REGION,
                "allow_bucket_creation": True,
                "connect_timeout": 30,
                "request_timeout": 30,
                **more,
            }
        )

    def wrong_secret(self) -> "Bucket":
        """Return a bucket that is there, for somebody with another secret."""
        other = replace(self, name=_new_name("locked")).make()
        return replace(other, secret="another-one")

    def wrong_bucket(self) -> "Bucket":
        """Return a bucket that is not there."""
        return replace(self, name=_new_name("absent"))


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("s3")
    server = S3Server(folder / "server")
    server.start()
    yield server
    server.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def s3(s3_server: S3Server) -> Bucket:
    return Bucket(s3_server, _new_name("tables")).make()


def _new_name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:12]}"
