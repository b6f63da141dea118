"""Topic configs, checked offline: each key, and keys together.

The keys are in `table`, the parsing of their values in `values`. If a cluster's version is only a
range, a value must be valid in every release of the range that knows the key: what a broker cannot
read keeps it from starting. A name that a broker does not know does it no harm, and so a key that
only some of the releases know passes (`doubtful_keys`). Messages say what was found and what was
expected.

Keys together (Kafka refuses the topic, or a starting broker its logs):
- 2.3 and later: `min.compaction.lag.ms` <= `max.compaction.lag.ms`.
- `local.retention.*` against `retention.*`, -2 always passes. From 3.6, with remote storage on and
  `retention.*` bounded (above -1): not -1 and not above it. Before 3.6 the same is checked with
  remote storage off too and takes an unlimited `retention.*` (-1) for the number -1, so that only
  -1 passes there.
- Remote storage is not for compacted topics.
"""

import functools
from collections.abc import Mapping

from poolkeeper import near_names
from poolkeeper.model.topic_config.table import KEYS
from poolkeeper.model.topic_config.values import elements, flag, parse_whole, quote
from poolkeeper.model.versions import KafkaVersion, Version, VersionRange, releases

RETENTION = {"local.retention.ms": "retention.ms", "local.retention.bytes": "retention.bytes"}
_UNLIMITED = float("inf")


def known_keys(version: Version) -> tuple[str, ...]:
    """The names that every release of the version accepts, sorted."""
    return tuple(sorted(name for name, row in KEYS.items() if row.since <= version.low.release))


def doubtful_keys(config: Mapping[str, str], version: Version) -> dict[str, KafkaVersion]:
    """The keys that only later releases of the version know, each with the first that does."""
    low, high = version.low.release, version.high.release
    return {
        key: KEYS[key].since
        for key in sorted(config)
        if key in KEYS and low < KEYS[key].since <= high
    }


def default_of(key: str, version: Version) -> str | None:
    """Kafka's documented default; `None` for an unknown key, or if the releases of a range differ.

    `message.format.version` has none: it is the broker's own version.
    """
    if key not in KEYS:
        return None
    found = {KEYS[key].defaults.at(release) for release in (version.low, version.high)}
    return found.pop() if len(found) == 1 else None


def is_owned_by_executor(key: str) -> bool:
    """Whether only the executor of moves sets and clears the key."""
    return key in KEYS and KEYS[key].owned_by_executor


# Thousands of topics share the same few settings.
@functools.lru_cache(maxsize=4096)
def check(key: str, value: str, version: Version) -> str | None:
    """What is wrong with declaring that value for that key, or `None`."""
    row = KEYS.get(key)
    if row is None or row.since > version.high.release:
        return _missing_key(key, version)
    if row.owned_by_executor:
        return f"{quote(key)} is set by Poolkeeper while replicas move (expected: not declared)"
    for release in releases(version):
        problem = row.kinds.at(release).problem(value, release) if row.since <= release else None
        if problem:
            return _said_of(problem, release, version)
    return None


def check_all(config: Mapping[str, str], version: Version) -> dict[str, str]:
    """Every problem of a declared config by key, keys in order: each alone, then together."""
    return dict(_problems(tuple(sorted(config.items())), version))


def refused_by_all(config: Mapping[str, str], version: Version) -> dict[str, str]:
    """The values with which no broker loads a log, whichever of the releases it runs, by key."""
    return dict(_refused_by_all(tuple(sorted(config.items())), version)) if config else {}


@functools.lru_cache(maxsize=4096)
def _refused_by_all(
    config: tuple[tuple[str, str], ...], version: Version
) -> tuple[tuple[str, str], ...]:
    found = []
    for key, value in config:
        row = KEYS.get(key)
        if row is None or row.since > version.low.release:
            continue
        problems = [row.kinds.at(each).problem(value, each) for each in releases(version)]
        if all(problems):
            found.append((key, problems[0] or ""))
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _problems(config: tuple[tuple[str, str], ...], version: Version) -> tuple[tuple[str, str], ...]:
    problems = {key: check(key, value, version) for key, value in config}
    sound = {key: value for key, value in config if problems[key] is None}
    together = [each for each in _TOGETHER if not sound.keys().isdisjoint(each[0])]
    for release in releases(version) if together else ():
        known = {key: value for key, value in sound.items() if KEYS[key].since <= release}
        for keys, cross_check in together:
            if all(problems.get(key) is None for key in keys):
                found = cross_check(known, release)
                problems.update((k, _said_of(said, release, version)) for k, said in found.items())
    return tuple((key, problem) for key, problem in sorted(problems.items()) if problem)


def _said_of(problem: str, release: KafkaVersion, version: Version) -> str:
    return f"for Kafka {release}: {problem}" if isinstance(version, VersionRange) else problem


@functools.lru_cache(maxsize=4096)
def _missing_key(key: str, version: Version) -> str:
    runs = "may run up to" if isinstance(version, VersionRange) else "runs"
    row = KEYS.get(key)
    if row is not None:
        return f"{quote(key)} exists since Kafka {row.since} (this cluster {runs} {version.high})"
    declarable = [name for name in known_keys(version.high) if not is_owned_by_executor(name)]
    close = near_names.nearest(key, declarable, 1)
    if close:
        return f"unknown key {quote(key)} (did you mean {close[0]!r}?)"
    return f"unknown key {quote(key)} (expected a topic config key of Kafka {version})"


def defaults_of(release: KafkaVersion) -> dict[str, str]:
    """Return the default of every key in a release; "" where there is none."""
    return {name: row.defaults.at(release) or "" for name, row in KEYS.items()}


def _number(config: Mapping[str, str], key: str, version: KafkaVersion) -> int:
    number = parse_whole(config.get(key) or default_of(key, version) or "")
    return 0 if number is None else number


def _lag_problems(config: Mapping[str, str], version: KafkaVersion) -> dict[str, str]:
    if "max.compaction.lag.ms" not in config:
        return {}
    least = _number(config, "min.compaction.lag.ms", version)
    most = _number(config, "max.compaction.lag.ms", version)
    text = f"'{least}' is above max.compaction.lag.ms (expected at most {most})"
    return {"min.compaction.lag.ms": text} if least > most else {}


def _local_retention_problems(config: Mapping[str, str], version: KafkaVersion) -> dict[str, str]:
    problems = {}
    early = version.parts < (3, 6)
    remote = flag(config.get("remote.storage.enable", "false"))
    for local_key, key in RETENTION.items():
        if local_key not in config or not (early or remote):
            continue
        local, total = _number(config, local_key, version), _number(config, key, version)
        unlimited = (local == total == -1) if early else total < 0
        if local == -2 or unlimited or -1 < local <= total:
            continue
        expected = f"-2, or from 0 to {total}" if total >= 0 else "-2 or -1"
        problems[local_key] = f"'{local}' keeps more than {key} (expected {expected})"
    return problems


def _remote_storage_problems(config: Mapping[str, str], version: KafkaVersion) -> dict[str, str]:
    remote = flag(config.get("remote.storage.enable", "false"))
    if not remote or "compact" not in elements(config.get("cleanup.policy", "delete")):
        return {}
    text = "'true' is not possible for a compacted topic (expected cleanup.policy delete)"
    return {"remote.storage.enable": text}


_TOGETHER = (
    (("min.compaction.lag.ms", "max.compaction.lag.ms"), _lag_problems),
    (("remote.storage.enable", *RETENTION, *RETENTION.values()), _local_retention_problems),
    (("remote.storage.enable", "cleanup.policy"), _remote_storage_problems),
)
"""Keys that are judged together once each of them is sound alone."""
