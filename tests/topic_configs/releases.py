"""Every supported release of Kafka: its class of topic configs, asked for keys and for verdicts.

Only the jars that this class needs are brought, by Maven; for releases that the sandbox runs too,
the sandbox's. `TopicConfigs.java` reaches the class by reflection: it moved twice, and changed from
Scala to Java. The compiler comes by Maven as well, as a machine that runs Kafka need not have one.
"""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_plus, unquote_plus

from java_classes import compiled, pom_of
from poolkeeper.sandbox.servers import artifacts

LAST_PATCHES = {
    "0.10.1": "0.10.1.1",
    "0.10.2": "0.10.2.2",
    "0.11.0": "0.11.0.3",
    "1.0": "1.0.2",
    "1.1": "1.1.1",
    "2.0": "2.0.1",
    "2.1": "2.1.1",
    "2.2": "2.2.2",
    "2.3": "2.3.1",
    "2.4": "2.4.1",
    "2.5": "2.5.1",
    "2.6": "2.6.3",
    "2.7": "2.7.2",
    "2.8": "2.8.2",
    "3.0": "3.0.2",
    "3.1": "3.1.2",
    "3.2": "3.2.3",
    "3.3": "3.3.2",
    "3.4": "3.4.1",
    "3.5": "3.5.2",
    "3.6": "3.6.2",
    "3.7": "3.7.2",
    "3.8": "3.8.1",
    "3.9": "3.9.2",
}
"""A patch of every supported release, oldest first."""

SOURCE = Path(__file__).with_name("TopicConfigs.java")
ASK_TIMEOUT_S = 120
_LIBRARIES = ("com.yammer.metrics:metrics-core:2.2.0", "org.slf4j:slf4j-api:1.7.36")
_CODECS = ("com.github.luben:zstd-jni:1.5.6-4", "org.xerial.snappy:snappy-java:1.1.10.5")
"""From 3.8 on a broker that loads a config makes its codec."""
_SINCE_3_0 = ("kafka-server-common", "kafka-storage", "kafka-storage-api", "kafka-metadata")
_SINCE_3_7 = ("kafka-server", "kafka-group-coordinator")
_SCALA = {"2.11": ("2.11.12", "3.9.0"), "2.12": ("2.12.15", "3.9.0"), "2.13": ("2.13.12", "3.9.4")}


@dataclass(frozen=True, slots=True)
class Key:
    """A key as its release defines it: the type, the default, and what its values may be.

    `low`, `high`, `beside`: numbers, as text; `words`: those of a STRING or LIST that has a choice.
    """

    type: str
    default: str
    low: str = ""
    high: str = ""
    beside: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a release says of a config: its validator, and a broker that loads it; "" if fine."""

    validator: str
    loading: str


@dataclass(frozen=True, slots=True)
class Answers:
    """All keys of a release by name, and its verdicts on the configs that it was asked for."""

    keys: Mapping[str, Key]
    verdicts: tuple[Verdict, ...]


def ask(release: str, configs: Iterable[Mapping[str, str]] = ()) -> Answers:
    """Ask a release for its keys, and what it says of each config."""
    tools = artifacts.find_tools()
    path = f"{compiled(SOURCE)}:{_class_path(release, tools)}/*"
    asked = "".join(f"{_encoded(config)}\n" for config in configs)
    run = subprocess.run(
        [tools.java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, SOURCE.stem],
        input=asked,
        capture_output=True,
        text=True,
        timeout=ASK_TIMEOUT_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    keys, verdicts = {}, []
    for line in run.stdout.splitlines():
        kind, *fields = map(unquote_plus, line.split("\t"))
        if kind == "key":
            name, type_, default, low, high, beside, words = fields
            several = tuple(words.split(",")) if words else ()
            keys[name] = Key(type_, default, low, high, beside, several)
        elif kind == "config":
            verdicts.append(Verdict(*fields))
    return Answers(keys, tuple(verdicts))


def _encoded(config: Mapping[str, str]) -> str:
    return "&".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in config.items())


def _class_path(release: str, tools: artifacts.Tools) -> Path:
    patch, cache = LAST_PATCHES[release], artifacts.cache_folder()
    if patch in artifacts.versions():
        return artifacts.class_path(patch, cache, tools)
    return artifacts.jars(f"topic-configs-{patch}", pom_of(_artifacts(patch)), cache, tools)


def _artifacts(patch: str) -> tuple[str, ...]:
    release = tuple(int(part) for part in patch.split("."))
    scala = "2.11" if release < (2, 0) else "2.12" if release < (2, 6) else "2.13"
    library, logging = _SCALA[scala]
    names = [f"kafka_{scala}", "kafka-clients"]
    names += ["kafka-raft"] if release >= (2, 7) else []
    names += _SINCE_3_0 if release >= (3, 0) else ()
    names += _SINCE_3_7 if release >= (3, 7) else ()
    return (
        *(f"org.apache.kafka:{name}:{patch}" for name in names),
        f"org.scala-lang:scala-library:{library}",
        f"com.typesafe.scala-logging:scala-logging_{scala}:{logging}",
        *_LIBRARIES,
        *(_CODECS if release >= (3, 8) else ()),
    )
