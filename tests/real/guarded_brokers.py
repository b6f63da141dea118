"""A real broker whose operators gave it a policy: `tests/java/RetentionPolicy.java`.

What it allows lies in a file, which the policy reads at each check.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from java_classes import compiled
from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.servers import artifacts
from real.support import body, create, history, kazoo, last_zxid

SOURCE = Path(__file__).parents[1] / "java" / "RetentionPolicy.java"
WEEK, YEAR = "604800000", "31536000000"


class Guarded:
    """A broker with the policy, and topics that others made before there was one."""

    def __init__(
        self, factory: Callable[..., Sandbox], version: str, folder: Path, topics: Iterable[str]
    ) -> None:
        jars = artifacts.class_path(version, artifacts.cache_folder(), artifacts.find_tools())
        self._limit = folder / "retention.ms"
        self.allow(WEEK)
        settings = (
            ("create.topic.policy.class.name", "RetentionPolicy$Creations"),
            ("alter.config.policy.class.name", "RetentionPolicy$Changes"),
            ("retention.policy.file", str(self._limit)),
        )
        classes = compiled(SOURCE, jars)
        self.sandbox = factory(version, brokers=1, settings=settings, classes=classes)
        for name in sorted(topics):
            create(self.sandbox, name, (1,))
        self.since = last_zxid(self.sandbox)

    def allow(self, retention_ms: str) -> None:
        self._limit.write_text(retention_ms, encoding="utf-8")

    def configs(self) -> dict[str, dict[str, str]]:
        """The configs of all topics that exist."""
        with kazoo(self.sandbox.connect) as zookeeper:
            names = zookeeper.get_children("/brokers/topics")
            return {n: body(zookeeper, f"/config/topics/{n}").get("config", {}) for n in names}

    def written(self) -> set[str]:
        """The topics that anything was written of."""
        names = (change.path.split("/") for change in history(self.sandbox, self.since))
        return {n[3] for n in names if n[1:3] in (["brokers", "topics"], ["config", "topics"])}
