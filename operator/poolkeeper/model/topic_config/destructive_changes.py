"""Which changes of a topic's config may lose records.

A change is destructive if records may be lost by it that were safe before: retention becomes
shorter or smaller, `cleanup.policy` changes at all, unclean elections are enabled, or fewer in-sync
replicas acknowledge. An absent key has its default, so removing a key counts, and so does declaring
one for the first time. Pass the brokers' own defaults if they matter; Kafka's documented defaults
stand in for the rest.
"""

from collections.abc import Mapping

from poolkeeper.model.topic_config.validation import RETENTION, defaults_of
from poolkeeper.model.topic_config.values import elements, flag, parse_whole
from poolkeeper.model.versions import SUPPORTED, Version

_UNLIMITED = float("inf")


def destructive_changes(
    old: Mapping[str, str],
    new: Mapping[str, str],
    version: Version = SUPPORTED,
    broker_defaults: Mapping[str, str] | None = None,
) -> list[str]:
    """The reasons why going from the old config to the new one may lose records; empty if none.

    Both are whole topic configs: what they lack holds its default. In a range of versions one
    release for which the change is destructive is enough.
    """
    reasons: dict[str, None] = {}
    for release in dict.fromkeys((version.low, version.high)):
        defaults = {**defaults_of(release), **(broker_defaults or {})}
        before, after = {**defaults, **old}, {**defaults, **new}
        for key, losing in _LOSING.items():
            if before[key] == after[key] or not (loss := losing(key, before, after)):
                continue
            came = _shown(before[key], key in old)
            reasons[f"{key} from {came} to {_shown(after[key], key in new)}: {loss}"] = None
    return list(reasons)


def _shown(value: str, is_set: bool) -> str:
    return value if is_set else f"{value} (the default)"


def _kept(key: str, config: Mapping[str, str]) -> float | None:
    """How long or how much is retained; `None` if the value cannot be parsed."""
    number = parse_whole(config[key])
    if number == -2 and key in RETENTION:
        return _kept(RETENTION[key], config)
    if number is None:
        return None
    return _UNLIMITED if number < 0 else number


def _keeps_less(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    before, after = _kept(key, old), _kept(key, new)
    if before is None or after is None:
        return "the two cannot be compared"
    return "older records are deleted" if after < before else None


def _cleans_otherwise(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    same = frozenset(elements(old[key])) == frozenset(elements(new[key]))
    return None if same else "records are cleaned up by another rule"


def _elects_uncleanly(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    worse = flag(new[key]) is not False and flag(old[key]) is not True
    return "a replica out of sync may become leader and drop records" if worse else None


def _acknowledges_sooner(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    before, after = parse_whole(old[key]), parse_whole(new[key])
    if before is None or after is None:
        return "the two cannot be compared"
    return "records are acknowledged by fewer replicas" if after < before else None


_LOSING = {
    "cleanup.policy": _cleans_otherwise,
    "local.retention.bytes": _keeps_less,
    "local.retention.ms": _keeps_less,
    "min.insync.replicas": _acknowledges_sooner,
    "retention.bytes": _keeps_less,
    "retention.ms": _keeps_less,
    "unclean.leader.election.enable": _elects_uncleanly,
}
