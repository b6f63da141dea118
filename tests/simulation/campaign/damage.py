"""Nodes, Kafka's and ours, that make no sense, or are gone."""

from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import Situation

RUN = "/poolkeeper/run"
RECORDS = "/poolkeeper/records"
MENDED_MS = 12_000


def topic_node(s: Situation) -> bool:
    topics = s.topics()
    return bool(topics) and _spoil(s, f"/brokers/topics/{s.dice.choice(topics)}")


def config_node(s: Situation) -> bool:
    found = [
        f"/config/{kind}/{name}"
        for kind in ("topics", "brokers")
        for name in s.cluster.client.children(f"/config/{kind}") or ()
    ]
    return bool(found) and _spoil(s, s.dice.choice(found), b'{"version":1,"config":{}}')


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
    Trouble.RUN_NODE_REMOVED: run_node,
    Trouble.RUN_DOCUMENT_CUT: run_document,
    Trouble.TOPIC_RECORD_DAMAGED: topic_record,
    Trouble.BROKERS_RECORD_DAMAGED: brokers_record,
}
