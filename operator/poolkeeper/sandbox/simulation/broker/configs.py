"""How a broker learns of dynamic config: all of it at its start, then by notifications.

A notification is handled once, in the order of its number; it only says whose config to read again.
One that makes no sense is passed over, the next ones count. Old ones are cleared away while a later
one is handled.

A topic's config is *unloadable* where a number of it is none: no broker makes a log with it, as it
reads the config for it. A log that is there goes on with the config before.

Nothing else happens while a broker handles what has come. So it reads all notifications in one
request, and in another the configs of all topics that they name: a real one reads each by itself.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.broker.throttles import Throttles
from poolkeeper.sandbox.simulation.codecs import CHANGES
from poolkeeper.sandbox.simulation.controller.event_queue import EventQueue, Steps
from poolkeeper.sandbox.simulation.controller.request_node import BROKEN
from poolkeeper.sandbox.simulation.world import World
from poolkeeper.sandbox.simulation.zookeeper.session import Client, DeleteNode, Event, Read

KEPT_MS = 900_000
DEFAULT = "<default>"
TOPICS = "topics/"
_NUMBERS = (".ms", ".bytes")


class ConfiguredBroker(Protocol):
    """The broker whose config it is."""

    id: int
    throttles: Throttles
    side: EventQueue

    @property
    def client(self) -> Client:
        """Its session."""
        ...

    def config_changed(self, topic: str) -> None:
        """Act on a topic's new config."""
        ...


class ConfigReader:
    """The notifications that one broker has handled."""

    def __init__(self, broker: ConfiguredBroker, world: World) -> None:
        self._broker = broker
        self._world = world
        self._last = -1
        self._unloadable: set[str] = set()

    def begin(self) -> Steps:
        """Read all config there is, and wait for changes."""
        client = self._broker.client
        names = client.children(CHANGES, self._on_change) or ()
        self._last = max((_number(name) for name in names), default=-1)
        topics = client.children("/config/topics") or ()
        found = client.read_many([f"/config/topics/{topic}" for topic in topics])
        for topic, node in zip(topics, found, strict=True):
            if node is not None:
                self._take(f"topics/{topic}", node[0])
        self._read(f"brokers/{self._broker.id}")
        yield

    def loads(self, topic: str) -> bool:
        """Whether a log of a topic can be made; what made no sense before is read again."""
        if topic in self._unloadable:
            self._read(f"{TOPICS}{topic}")
        return topic not in self._unloadable

    def _on_change(self, _: Event) -> None:
        self._broker.side.post(self._handle)

    def _handle(self) -> Steps:
        client = self._broker.client
        names = client.children(CHANGES, self._on_change) or ()
        new = [name for name in names if _number(name) > self._last]
        self._last = max((_number(name) for name in new), default=self._last)
        notifications = client.read_many([f"{CHANGES}/{name}" for name in new])
        changed = [
            entity
            for name, found in zip(new, notifications, strict=True)
            if found is not None and (entity := self._entity(name, found[0])) is not None
        ]
        topics = [entity for entity in dict.fromkeys(changed) if entity.startswith(TOPICS)]
        configs = client.read_many([f"/config/{entity}" for entity in topics])
        self._notified(changed, dict(zip(topics, configs, strict=True)))
        self._purge(names)
        yield

    def _entity(self, name: str, data: bytes) -> str | None:
        try:
            return codecs.decode_change(data)
        except BROKEN as damage:
            self._world.note(f"broker {self._broker.id}: {name} makes no sense: {damage!r}")
            return None

    def _notified(self, changed: Sequence[str], configs: Mapping[str, Read | None]) -> None:
        for entity in changed:
            whose = entity.partition("/")[2]
            if entity in configs:
                found = configs[entity]
                self._take(entity, b"" if found is None else found[0])
                self._broker.config_changed(whose)
            elif whose == str(self._broker.id) or whose == DEFAULT:
                self._read(entity if whose != DEFAULT else f"brokers/{self._broker.id}")

    def _read(self, entity: str) -> None:
        found = self._broker.client.get(f"/config/{entity}")
        self._take(entity, b"" if found is None else found[0])

    def _take(self, entity: str, data: bytes) -> None:
        kind, _, whose = entity.partition("/")
        try:
            config = codecs.decode_config(data)
        except BROKEN as damage:
            self._world.note(f"broker {self._broker.id}: config of {entity}: {damage!r}")
            return
        if kind == "topics":
            self._unloadable.discard(whose)
            if not is_loadable(config):
                self._unloadable.add(whose)
            wrong = self._broker.throttles.take_lists(whose, config)
        else:
            wrong = self._broker.throttles.take_rates({**self._defaults(), **config})
        for problem in wrong:
            self._world.note(f"broker {self._broker.id}: {problem}")
        self._world.on_flow()

    def _defaults(self) -> Mapping[str, str]:
        if not self._world.profile.has_default_throttles:
            return {}
        found = self._broker.client.get(f"/config/brokers/{DEFAULT}")
        return {} if found is None else codecs.decode_config(found[0])

    def _purge(self, names: tuple[str, ...]) -> None:
        client = self._broker.client
        oldest_ms = self._world.clock.now_ms() - KEPT_MS
        for name in names:  # the oldest come first
            path = f"{CHANGES}/{name}"
            stat = client.exists(path)
            if stat is not None and stat.ctime >= oldest_ms:
                return
            if stat is not None:
                client.commit_many([[DeleteNode(path)]])


def is_loadable(config: Mapping[str, str]) -> bool:
    """Whether a broker makes logs with that config of their topic."""
    numbers = (value for key, value in config.items() if key.endswith(_NUMBERS))
    return all(value.strip().removeprefix("-").isdigit() for value in numbers)


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1
