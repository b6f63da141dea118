"""How many tasks a session will do at a time. Pure.

What runs now says little: executors come one after the other, and with dynamic allocation there may
be none before the first job asks for them. A job is cut for all that the settings promise, so that
its tasks are the same whoever is there when it begins, and executors that come later have work.
"""

from collections.abc import Mapping

EXECUTORS_MAX = 32
"""Executors that a job is cut for where dynamic allocation has no bound, or a larger one."""


def slots(conf: Mapping[str, str], now: int) -> int:
    """How many tasks at a time; `conf`: Spark's settings, `now`: as Spark counts executors now."""
    if conf.get("spark.master", "local").startswith("local"):
        return max(1, now)
    return max(1, now, _executors(conf) * _cores(conf), _cores_in_all(conf))


def _executors(conf: Mapping[str, str]) -> int:
    if conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        most = _whole(conf, "spark.dynamicAllocation.maxExecutors", EXECUTORS_MAX)
        return max(1, min(most, EXECUTORS_MAX))
    return _whole(conf, "spark.executor.instances", 0)


def _cores(conf: Mapping[str, str]) -> int:
    """Tasks that an executor does at a time."""
    each = max(1, _whole(conf, "spark.task.cpus", 1))
    return max(1, _whole(conf, "spark.executor.cores", 1) // each)


def _cores_in_all(conf: Mapping[str, str]) -> int:
    each = max(1, _whole(conf, "spark.task.cpus", 1))
    return _whole(conf, "spark.cores.max", 0) // each


def _whole(conf: Mapping[str, str], name: str, default: int) -> int:
    text = conf.get(name, "")
    return int(text) if text.isdecimal() else default
