"""Somebody else's programs at work on the same cluster."""

import json

from poolkeeper.algorithms.throttles import LOG_DIRS_RATE
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, body_of
from poolkeeper.sandbox.simulation.profiles import Era
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode
from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import MB, Partition, Situation

NOBODY = 99
EDITED = "segment.bytes"
MADE_AGAIN_MS = 300
MADE_AGAIN_TRIES = 50
ELECTION = "/admin/preferred_replica_election"
BROKER_THROTTLE = {
    "leader.replication.throttled.rate": str(7 * MB),
    "follower.replication.throttled.rate": str(7 * MB),
}
TOPIC_THROTTLE = {
    "leader.replication.throttled.replicas": "0:1",
    "follower.replication.throttled.replicas": "0:2",
}


def request(s: Situation) -> bool:
    move = _move(s)
    if move is None or s.cluster.exists(REQUEST):
        return False
    s.cluster.request(dict([move]))
    return True


def extend(s: Situation) -> bool:
    move, body = _move(s), s.body(REQUEST)
    if move is None or not body or any(_names(e, move[0]) for e in body["partitions"]):
        return False
    body["partitions"] += body_of(dict([move]))["partitions"]
    s.cluster.set(REQUEST, body)
    return True


def delete_request(s: Situation) -> bool:
    if not s.cluster.exists(REQUEST):
        return False
    s.cluster.delete(REQUEST)
    return True


def replace_request(s: Situation) -> bool:
    move = _move(s)
    if move is None or not s.cluster.exists(REQUEST):
        return False
    s.cluster.delete(REQUEST)
    s.cluster.request(dict([move]))
    return True


def unreadable(s: Situation) -> bool:
    if s.cluster.exists(REQUEST):
        return False
    s.cluster.create(REQUEST, s.dice.choice((b"{", b"", b'{"version":1,"partitions":[]}')))
    return True


def for_nobody(s: Situation) -> bool:
    move = _move(s)
    if move is None or s.cluster.exists(REQUEST):
        return False
    s.cluster.request({move[0]: (*move[1][:-1], NOBODY)})
    return True


def leave_nobody(s: Situation) -> None:
    """Let partitions leave the unknown broker: by the API, or by a request to a new controller."""
    stuck = {name: [i for i in ids if i != NOBODY] for name, ids in s.partitions() if NOBODY in ids}
    if s.cluster.simulation.profile.era is Era.RECORDED:
        s.cluster.simulation.alter_reassignments(stuck)
    elif stuck and not s.cluster.exists(REQUEST):
        s.cluster.delete("/controller")
        s.cluster.clock.after(1_000, lambda: s.cluster.request(stuck))


def api_move(s: Situation) -> bool:
    move = _move(s)
    return move is not None and _alter(s, move[0], move[1])


def api_cancel(s: Situation) -> bool:
    moving = [
        (topic, int(number))
        for topic in s.topics()
        for number in s.body(f"/brokers/topics/{topic}").get("adding_replicas") or {}
    ]
    return bool(moving) and _alter(s, s.dice.choice(moving), None)


def elect(s: Situation) -> bool:
    names = [name for name, _ in s.partitions()]
    if not names or s.cluster.exists(ELECTION):
        return False
    partitions = [{"topic": topic, "partition": number} for topic, number in names]
    s.cluster.create(ELECTION, {"version": 1, "partitions": partitions})
    return True


def set_throttles(s: Situation) -> bool:
    topic = s.dice.choice(s.topics() or ["t"])
    for entity, keys in (
        (f"brokers/{s.dice.choice(s.live)}", BROKER_THROTTLE),
        (f"topics/{topic}", TOPIC_THROTTLE),
    ):
        s.foreign_throttles.add(entity)
        configure(s, entity, {**config_of(s, entity), **keys})
    return True


def remove_throttles(s: Situation) -> bool:
    """What `kafka-reassign-partitions --verify` does when its moves are done."""
    found = throttled(s)
    for entity in found:
        clear_throttles(s, entity)
    return bool(found)


def create_topic(s: Situation) -> bool:
    if s.cluster.exists("/brokers/topics/x"):
        return False
    s.cluster.create("/brokers/topics/x", {"version": 1, "partitions": {"0": s.live[:2]}})
    return True


def delete_topic(s: Situation) -> bool:
    topics = s.topics()
    if not topics:
        return False
    return delete_topic_of(s, s.dice.choice(topics))


def delete_topic_of(s: Situation, topic: str) -> bool:
    if s.cluster.exists(f"/admin/delete_topics/{topic}"):
        return False
    s.deleted.add(topic)
    s.cluster.create(f"/admin/delete_topics/{topic}", b"")
    return True


def make_again(s: Situation) -> bool:
    """Delete a topic; once it is gone, make another one of its name, with other partitions."""
    topic = s.dice.choice(s.topics() or ["t"])
    if not delete_topic_of(s, topic):
        return False
    lists = [s.dice.sample(s.live, min(2, len(s.live))) for _ in range(s.dice.choice((1, 2, 3)))]

    def make(tries: int = MADE_AGAIN_TRIES) -> None:
        node = f"/brokers/topics/{topic}"
        if s.cluster.exists(f"/admin/delete_topics/{topic}"):
            if tries:
                s.later(MADE_AGAIN_MS, lambda: make(tries - 1))
        elif not s.cluster.exists(node):
            body = {str(number): ids for number, ids in enumerate(lists)}
            s.cluster.create(node, {"version": 1, "partitions": body})

    s.later(MADE_AGAIN_MS, make)
    return True


def add_partition(s: Situation) -> bool:
    topics = s.topics()
    if not topics:
        return False
    topic = s.dice.choice(topics)
    path = f"/brokers/topics/{topic}"
    body = s.body(path)
    ids = s.dice.sample(s.live, min(2, len(s.live)))
    body["partitions"][str(len(body["partitions"]))] = ids
    s.cluster.set(path, body)
    return True


# Configs


def edit_config(s: Situation) -> bool:
    topics = s.topics()
    if not topics:
        return False
    topic = s.dice.choice(topics)
    entity = f"topics/{topic}"
    s.edited[topic] = str(s.dice.randrange(20, 30) * MB)
    configure(s, entity, {**config_of(s, entity), EDITED: s.edited[topic]})
    return True


def spoil_config(s: Situation) -> bool:
    """Write a config with which no broker makes a log."""
    topics = s.topics()
    if not topics:
        return False
    entity = f"topics/{s.dice.choice(topics)}"
    configure(s, entity, {**config_of(s, entity), "segment.ms": "a week"})
    return True


def load_configs(s: Situation) -> None:
    """Take back the configs that no broker can load."""
    for topic in s.cluster.client.children("/config/topics") or ():
        config = config_of(s, f"topics/{topic}")
        if config.pop("segment.ms", None):
            configure(s, f"topics/{topic}", config)


def config_of(s: Situation, entity: str) -> dict[str, str]:
    found: dict[str, str] = (s.body(f"/config/{entity}") or {}).get("config", {})
    return found


def configure(s: Situation, entity: str, config: dict[str, str]) -> None:
    path = f"/config/{entity}"
    write = s.cluster.set if s.cluster.exists(path) else s.cluster.create
    write(path, {"version": 1, "config": config})
    notice = json.dumps({"version": 2, "entity_path": entity}).encode()
    s.cluster.client.commit([CreateNode("/config/changes/config_change_", notice, sequence=True)])


def throttled(s: Situation) -> list[str]:
    """The entities that have a throttle key."""
    return [
        f"{kind}/{name}"
        for kind in ("brokers", "topics")
        for name in s.cluster.client.children(f"/config/{kind}") or ()
        if any(is_throttle(key) for key in config_of(s, f"{kind}/{name}"))
    ]


def is_throttle(key: str) -> bool:
    return "replication.throttled" in key or key == LOG_DIRS_RATE


def clear_throttles(s: Situation, entity: str) -> None:
    config = config_of(s, entity)
    configure(s, entity, {key: v for key, v in config.items() if not is_throttle(key)})


# Moves


def move_log_dir(s: Situation) -> bool:
    """Ask a broker to move one of its replicas to another of its directories."""
    simulation = s.cluster.simulation
    held = [(id_, tp) for id_ in s.live for tp in sorted(simulation.brokers[id_].disk.logs)]
    if not held:
        return False
    id_, tp = s.dice.choice(held)
    path = s.dice.choice(simulation.brokers[id_].disk.directories)
    return simulation.alter_log_dir(id_, *tp, path) == ""


def _move(s: Situation) -> tuple[Partition, list[int]] | None:
    """Draw another list of as many live brokers for a partition."""
    found = [(name, ids) for name, ids in s.partitions() if ids]
    if not found:
        return None
    name, ids = s.dice.choice(found)
    return name, s.dice.sample(s.live, min(len(ids), len(s.live), 3))


def _names(entry: dict[str, object], name: Partition) -> bool:
    return (entry["topic"], entry["partition"]) == name


def _alter(s: Situation, name: Partition, ids: list[int] | None) -> bool:
    if s.cluster.simulation.profile.era is not Era.RECORDED:
        return False
    return s.cluster.simulation.alter_reassignments({name: ids}) == ""


TOOLS = {
    Trouble.FOREIGN_REQUEST: request,
    Trouble.REQUEST_EXTENDED: extend,
    Trouble.REQUEST_DELETED: delete_request,
    Trouble.REQUEST_REPLACED: replace_request,
    Trouble.REQUEST_UNREADABLE: unreadable,
    Trouble.REQUEST_FOR_NOBODY: for_nobody,
    Trouble.API_MOVE: api_move,
    Trouble.API_CANCEL: api_cancel,
    Trouble.ELECTION: elect,
    Trouble.THROTTLE_SET: set_throttles,
    Trouble.THROTTLE_REMOVED: remove_throttles,
    Trouble.TOPIC_CREATED: create_topic,
    Trouble.TOPIC_DELETED: delete_topic,
    Trouble.TOPIC_MADE_AGAIN: make_again,
    Trouble.PARTITIONS_ADDED: add_partition,
    Trouble.CONFIG_EDITED: edit_config,
    Trouble.CONFIG_UNLOADABLE: spoil_config,
    Trouble.LOG_DIR_MOVED: move_log_dir,
}
