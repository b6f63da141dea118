"""Inputs of every kind, drawn at random: mostly such as occur, some that Kafka refuses."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

Input = dict[str, Any]

_NAME_PARTS = (
    "a",
    "b",
    "Z",
    "0",
    ".",
    "..",
    "_",
    "-",
    "a.b",
    "a_b",
    "ä",
    " ",
    "\n",
    "/",
    "x" * 125,
    "x" * 124,
)
_RACKS = ("a", "b", "c", "Z", "_", "", "rack1", "\uff00", "\U0001f600")
_TOPICS = ("t", "a", "t-1", "Z", "topic10", "\uff00", "\U0001f600")
_MEMBERS = ("C0", "C1", "C10", "consumer-1-ab", "Z", "", "\uff00", "\U0001f600")
_LIST_PARTS = (
    *("0:1", "1:2", "10:1", "0:", ":1", "a:1", "0:1:2", "-1:2", "*", "", " ", "\t", "\u00a0"),
    *("\u0660:1", "\n", "0 :1", "\x1f", "\u2003", "99999999999:1", "\x0b", "\x00"),
)


def assign_replicas(random: Random) -> Input:
    brokers = _brokers(random)
    return {
        "brokers": brokers,
        "n_partitions": random.randint(1, 40),
        "replication_factor": random.randint(1, len(brokers) + (random.random() < 0.1)),
        "fixed_start_index": random.choice((0, 1, random.randint(0, 50), 200_000)),
        "start_partition_id": random.choice((-1, 0, random.randint(0, 50), 1_000_000)),
    }


def rack_alternated(random: Random) -> Input:
    return {"broker_racks": {str(id_): random.choice(_RACKS) for id_ in _ids(random, 12)}}


def add_partitions(random: Random) -> Input:
    brokers = _brokers(random)
    ids = [broker["id"] for broker in brokers]
    factor = random.randint(1, len(ids))
    known = [*ids, 7, 1_000_000]
    existing = {
        str(number): random.sample(known, min(len(known), factor))
        for number in range(random.randint(1, 5))
    }
    total = len(existing) + random.choice((0, 1, 1, 2, 9))
    found: Input = {"brokers": brokers, "existing": existing, "new_total": max(1, total)}
    if random.random() < 0.3:
        pool = random.choice((ids, ids, known))
        found["manual"] = {
            str(number): random.choices(pool, k=max(0, factor + random.choice((-1, 0, 0, 0))))
            if random.random() < 0.2
            else random.sample(pool, min(factor, len(pool)))
            for number in range(len(existing), total)
        }
    return found


def murmur2(random: Random) -> Input:
    if random.random() < 0.5:
        return {"hex": random.randbytes(random.randint(0, 20)).hex()}
    return {"utf8": _text(random, 12)}


def key_partition(random: Random) -> Input:
    counts = [random.choice((1, 2, 3, 50, 2**31 - 1, random.randint(1, 10_000))) for _ in range(4)]
    return murmur2(random) | {"num_partitions": counts}


def rr_partitioner(random: Random) -> Input:
    numbers = random.sample(range(12), random.randint(0, 8))
    share = random.choice((0, 0.5, 1))
    partitions = [[number, random.random() < share] for number in numbers]
    return {"partitions": partitions, "calls": random.randint(0 if numbers else 1, 30)}


def adaptive_cft(random: Random) -> Input:
    longest = random.choice((0, 1, 5, 1000))
    return {"queue_sizes": [random.randint(0, longest) for _ in range(random.randint(0, 8))]}


def topic_name(random: Random) -> Input:
    return {"name": "".join(random.choices(_NAME_PARTS, k=random.randint(0, 3)))}


def topic_collision(random: Random) -> Input:
    parts = ("a", ".", "_", "-", "ä")
    a, b = ("".join(random.choices(parts, k=3)) for _ in range(2))
    return {"a": a, "b": random.choice((b, a.replace(".", "_"), a.replace("_", ".")))}


def throttled_replica_list(random: Random) -> Input:
    parts = _LIST_PARTS[: random.choice((3, len(_LIST_PARTS)))]
    glue = random.choice((",", ",", " , ", ""))
    return {"value": glue.join(random.choices(parts, k=random.randint(0, 4)))}


def throttles(random: Random) -> Input:
    names = [
        f"{topic}-{number}" for topic in ("t", "a-1", "Z", "\uff00") for number in (0, 1, 2, 10)
    ]
    current = {name: _replicas(random) for name in random.sample(names, 6)}
    moving = random.sample(names, random.randint(0, 4))
    return {
        "current_reassignments": {name: _moving(random) for name in moving},
        "proposed": {name: _replicas(random) for name in random.sample([*current, *moving], 4)},
        "current": current,
    }


def reassign_to(random: Random) -> Input:
    target = [*_replicas(random), *random.choices(range(1, 7), k=random.choice((0, 0, 2)))]
    return _moving(random) | {"target": target[random.choice((0, 0, len(target))) :]}


def leader_election(random: Random) -> Input:
    strategy = random.choice(("offline", "reassign", "preferred", "controlled_shutdown"))
    found: Input = {"strategy": strategy, "unclean": random.random() < 0.5}
    for field in ("assignment", "isr", "live", "shutting_down"):
        found[field] = random.sample(range(1, 7), random.randint(0, 5))
    return found


def range_(random: Random) -> Input:
    racks = random.sample(_RACKS, random.randint(1, 3))
    topics = {name: _topic(random, racks) for name in random.sample(_TOPICS, random.randint(1, 4))}
    members = [
        {
            "id": name,
            "topics": random.sample(_TOPICS, random.randint(0, 4)),
            "instance_id": random.choice((None, None, f"i{random.randint(0, 20)}")),
            "rack": random.choice((None, *racks)),
        }
        for name in random.sample(_MEMBERS, random.randint(1, 6))
    ]
    return {"topics": topics, "members": members}


def roundrobin(random: Random) -> Input:
    return range_(random)


def sticky(random: Random) -> Input:
    found = cooperative_sticky(random)
    if random.random() < 0.3:
        found["algorithm"] = random.choice(("2.2", "3.9"))
    return found


def cooperative_sticky(random: Random) -> Input:
    found = range_(random)
    for member in found["members"]:
        if random.random() < 0.8:
            topics = random.sample(_TOPICS, 3)
            member["owned"] = [[topic, random.randint(0, 4)] for topic in topics]
            member["generation"] = random.choice((None, 5, 5, 6))
    return found


def member_order(random: Random) -> Input:
    members = range_(random)["members"]
    return {"members": [{key: each[key] for key in ("id", "instance_id")} for each in members]}


def rack_aware_enabled(random: Random) -> Input:
    per_partition = [random.sample(_RACKS, random.randint(0, 3)) for _ in range(3)]
    every = sorted({rack for racks in per_partition for rack in racks})
    return {
        "consumer_racks": random.sample(_RACKS, random.randint(0, 3)),
        "partition_racks": every,
        "racks_per_partition": per_partition,
    }


QUESTIONS: Mapping[str, Callable[[Random], Input]] = {
    each.__name__.rstrip("_"): each
    for each in (
        *(assign_replicas, rack_alternated, add_partitions, murmur2, key_partition),
        *(rr_partitioner, adaptive_cft, topic_name, topic_collision, throttled_replica_list),
        *(throttles, reassign_to, leader_election, range_, roundrobin, sticky),
        *(cooperative_sticky, member_order, rack_aware_enabled),
    )
}


def _topic(random: Random, racks: list[str]) -> Input:
    partitions = random.randint(0, 5)
    if random.random() < 0.5:
        return {"partitions": partitions}
    placed = [random.sample(racks, random.randint(0, len(racks))) for _ in range(partitions)]
    return {"partitions": partitions, "racks": placed}


def _ids(random: Random, most: int) -> list[int]:
    largest = random.choice((most, 2000))
    return random.sample(range(largest), random.randint(1, most))


def _brokers(random: Random) -> list[Input]:
    ids = _ids(random, 9)
    racks = random.sample(_RACKS, random.randint(1, 4))
    share = random.choice((0, 0, 1, 1, 1, 0.9))
    return [
        {"id": id_} | ({"rack": random.choice(racks)} if random.random() < share else {})
        for id_ in ids
    ]


def _replicas(random: Random) -> list[int]:
    return random.sample(range(1, 7), random.randint(1, 4))


def _moving(random: Random) -> Input:
    replicas = random.sample(range(1, 9), random.randint(1, 5))
    adding = random.sample(replicas, random.randint(0, len(replicas)))
    left = [each for each in (*replicas, 9) if each not in adding]
    return {
        "replicas": replicas,
        "adding": adding,
        "removing": random.sample(left, random.randint(0, len(left))),
    }


def _text(random: Random, most: int) -> str:
    letters = ("a", "b", "0", " ", "ä", "\u0000", "\uffff", "\U0001f600")
    return "".join(random.choices(letters, k=random.randint(0, most)))
