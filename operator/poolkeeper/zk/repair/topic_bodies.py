"""What a poisoned topic node should hold: pure.

Poison that is known from real brokers, all of which stops the next controller from starting:

* ids as texts, put before the ids that were there by a request with texts: the ids that are
  integers were the list before;
* an empty list, or one that loses all its replicas, left by a request with an empty list;
* a broker named twice (2.0), which harms nobody yet but can be told to nobody either;
* a body that is empty or cut off.

Lists that are lost are made of the in-sync replicas, which the partition's state names. An id that
is lost is the recorded one: the next controller would give the topic another, by which brokers that
hold logs of it neither copy nor serve them. What is being added to and removed from other
partitions stays as it is.
"""

import json
from collections.abc import Iterable, Mapping, Set
from typing import Any

from poolkeeper.errors import Refused
from poolkeeper.model.topology import Replicas
from poolkeeper.zk.codecs import json_bodies
from poolkeeper.zk.codecs.json_bodies import INTEGER_MAX

MOVING_KEYS = ("adding_replicas", "removing_replicas")


def mended_body(
    data: bytes, in_sync: Mapping[int, Replicas], recorded_id: str | None = None
) -> bytes | None:
    """Return what the node should hold, or None if that cannot be told.

    `in_sync`: the in-sync replicas of every partition that has a state, the leader first.
    `recorded_id`: the topic's id as it was noted elsewhere, for a node that has lost it.
    """
    body = _object(data)
    lists = body.get("partitions")
    lists = lists if isinstance(lists, dict) else {str(p): None for p in in_sync}
    partitions: dict[str, list[int]] = {}
    touched: set[str] = set()
    for key, found in lists.items():
        if not (key.isascii() and key.isdecimal() and len(key) <= 9):
            return None
        removing = _items(body.get("removing_replicas"), key)
        whole = _mended_list(found) or list(in_sync.get(int(key), ()))
        if not whole:
            return None
        if whole != found or all(id_ in removing for id_ in whole):
            touched.add(key)
        partitions[str(int(key))] = whole
    if sorted(map(int, partitions)) != list(range(len(lists))) or not partitions:
        return None
    still = partitions.keys() - touched
    moving = {key: _kept(body[key], still) for key in MOVING_KEYS if key in body}
    if not isinstance(body.get("topic_id"), str) and recorded_id is not None:
        body["topic_id"] = recorded_id
    if not isinstance(body.get("topic_id"), str | None):
        return None  # another id would make brokers refuse to copy
    version = body.get("version")
    version = version if type(version) is int else 1
    return json_bodies.encode({**body, "version": version, "partitions": partitions, **moving})


def lost_lists(data: bytes, partitions: Iterable[int]) -> tuple[int, ...]:
    """Return those of the partitions whose lists are made of their in-sync replicas."""
    lists = _object(data).get("partitions")
    found = lists if isinstance(lists, dict) else {}
    return tuple(p for p in partitions if not _mended_list(found.get(str(p))))


def _object(data: bytes) -> dict[str, Any]:
    try:
        return json_bodies.parse(data)
    except Refused:
        return {}


def _items(lists: Any, key: str) -> list[Any]:
    found = lists.get(key) if isinstance(lists, dict) else None
    return found if isinstance(found, list) else []


def _mended_list(found: Any) -> list[int]:
    """Return the list as it was before what made no sense of it; empty if nothing is left."""
    if not isinstance(found, list):
        return []
    integers = [item for item in found if type(item) is int and 0 <= item <= INTEGER_MAX]
    texts = [int(item) for item in found if _is_id(item)]
    return list(dict.fromkeys(integers or texts))


def _is_id(item: Any) -> bool:
    return isinstance(item, str) and item.isascii() and item.isdecimal() and len(item) <= 9


def _kept(lists: Any, partitions: Set[str]) -> dict[str, Any]:
    """Return what is being added to or removed from these partitions."""
    if not isinstance(lists, dict):
        return {}
    return {
        key: ids
        for key, ids in lists.items()
        if key in partitions
        and isinstance(ids, list)
        and all(type(id_) is int and 0 <= id_ <= INTEGER_MAX for id_ in ids)
    }


def mended_config(data: bytes) -> bytes | None:
    """Return a config whose values are all texts, or None if its values cannot be told."""
    body = _object(data)
    config = body.get("config")
    if not isinstance(config, dict):
        return None
    values = {key: _text(value) for key, value in config.items()}
    if any(value is None for value in values.values()):
        return None
    return json_bodies.encode({**body, "version": 1, "config": values})


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else None
