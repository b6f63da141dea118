"""Nodes, Kafka's and ours, that make no sense, or are gone."""

from collections.abc import Callable, Sequence

from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import Situation

RUN = "/poolkeeper/run"
RECORDS = "/poolkeeper/records"
MENDED_MS = 12_000


def topic_node(s: Situation) -> bool:
    nodes = _topic_nodes(s)
    return bool(nodes) and _spoil(s, s.dice.choice(nodes))


def config_node(s: Situation) -> bool:
    found = _config_nodes(s)
    return bool(found) and _spoil(s, s.dice.choice(found), b'{"version":1,"config":{}}')


def hide_topic(s: Situation) -> bool:
    """Hide one of several: where all are hidden, nothing can be said of the cluster."""
    nodes = _topic_nodes(s)
    return len({*nodes} - s.hidden) > 1 and _hide(s, s.cluster.hide, nodes)


def protect_topic(s: Situation) -> bool:
    return _hide(s, s.cluster.protect, _topic_nodes(s))


def hide_config(s: Situation) -> bool:
    return _hide(s, s.cluster.hide, _config_nodes(s))


def protect_config(s: Situation) -> bool:
    return _hide(s, s.cluster.protect, _config_nodes(s))


def _hide(s: Situation, hide: Callable[[str], None], paths: Sequence[str]) -> bool:
    """Change a node's ACL: for a while, or until all is put right."""
    paths = [path for path in paths if path not in s.hidden]
    if not paths:
        return False
    path = s.dice.choice(paths)
    hide(path)
    s.hidden.add(path)
    if s.dice.random() < 0.5:
        s.later(MENDED_MS, lambda: show(s, path))
    return True


def show(s: Situation, path: str) -> None:
    """Let Poolkeeper read and write a node again."""
    s.hidden.discard(path)
    if s.cluster.exists(path):
        s.cluster.show(path)


def _topic_nodes(s: Situation) -> list[str]:
    return [f"/brokers/topics/{topic}" for topic in s.topics()]


def _config_nodes(s: Situation) -> list[str]:
    return [
        f"/config/{kind}/{name}"
        for kind in ("topics", "brokers")
        for name in s.cluster.client.children(f"/config/{kind}") or ()
    ]


def run_node(s: Situation) -> bool:
    if not s.cluster.exists(RUN):
        return False
    for child in s.cluster.client.children(RUN) or ():
        s.cluster.delete(f"{RUN}/{child}")
    s.cluster.delete(RUN)
    return True


def run_document(s: Situation) -> bool:
    chunks = [name for name in s.cluster.client.children(RUN) or () if name != "stop"]
    if not chunks:
        return False
    path = f"{RUN}/{chunks[0]}"
    found = s.cluster.client.get(path)
    assert found is not None
    return _spoil(s, path, bad=found[0][: len(found[0]) // 2])


def topic_record(s: Situation) -> bool:
    names = s.cluster.client.children(f"{RECORDS}/topics") or ()
    return bool(names) and _spoil(s, f"{RECORDS}/topics/{s.dice.choice(names)}")


def brokers_record(s: Situation) -> bool:
    return s.cluster.exists(f"{RECORDS}/brokers") and _spoil(s, f"{RECORDS}/brokers")


def _spoil(s: Situation, path: str, mended: bytes | None = None, bad: bytes | None = None) -> bool:
    """Damage a node; a person mends it after a while, unless somebody else did."""
    found = s.cluster.client.get(path)
    assert found is not None
    before = mended or found[0]
    damaged = bad or s.dice.choice((b"{", b"[1]", b'{"version": "x"}'))
    s.cluster.set(path, damaged)

    def mend() -> None:
        found = s.cluster.client.get(path)
        if found is not None and found[0] == damaged:
            s.cluster.set(path, before)

    s.later(MENDED_MS, mend)
    return True


DAMAGE = {
    Trouble.TOPIC_NODE_DAMAGED: topic_node,
    Trouble.CONFIG_NODE_DAMAGED: config_node,
    Trouble.CONFIG_NODE_HIDDEN: hide_config,
    Trouble.CONFIG_NODE_PROTECTED: protect_config,
    Trouble.TOPIC_NODE_HIDDEN: hide_topic,
    Trouble.TOPIC_NODE_PROTECTED: protect_topic,
    Trouble.RUN_NODE_REMOVED: run_node,
    Trouble.RUN_DOCUMENT_CUT: run_document,
    Trouble.TOPIC_RECORD_DAMAGED: topic_record,
    Trouble.BROKERS_RECORD_DAMAGED: brokers_record,
}
