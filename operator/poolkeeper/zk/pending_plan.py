"""The plan that waits for a person's approval, as stored in ZooKeeper.

The next executor asks for approval of the same plan, and `show` prints it. As with a run, a node
holds the digest of its children, and is written before them: a plan that was not written completely
counts as absent. It is removed when the cluster is as declared.
"""

import json

from poolkeeper.model.plans import Plan
from poolkeeper.zk import runs, znodes
from poolkeeper.zk.client.operations import Create, Delete
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import Journal


def remember(journal: Journal, plan: Plan | None) -> None:
    """Record the pending plan; None removes it. Nothing is written if nothing changed.

    A plan that is too large is not recorded; the next executor may then ask about another plan.
    """
    node = journal.session.read(znodes.ASKED)
    if node is not None:
        if plan is not None and _is_whole(journal.session, node.data, plan.hash):
            return
        journal.commit(*journal.delete_children(znodes.ASKED), Delete(znodes.ASKED, node.version))
    if plan is None:
        return
    chunks = runs.encode_plan(plan)
    if len(chunks) > runs.CHUNKS_MAX:
        return
    body = {"version": 1, "plan": plan.hash, "digest": runs.digest_of(chunks)}
    data = json.dumps(body | {"chunks": len(chunks)}, sort_keys=True).encode()
    journal.commit(Create(znodes.ASKED, data))
    for i, chunk in enumerate(chunks):
        journal.commit(Create(znodes.plan_chunk(i, znodes.ASKED), chunk))


def read(session: Session) -> Plan | None:
    """Return the plan, or `None` if it is absent or incomplete."""
    node = session.read(znodes.ASKED)
    if node is None:
        return None
    body = json.loads(node.data)
    nodes = session.read_many([znodes.plan_chunk(i, znodes.ASKED) for i in range(body["chunks"])])
    return runs.decode_plan([each.data for each in nodes if each is not None], body["digest"])


def _is_whole(session: Session, data: bytes, plan: str) -> bool:
    """Whether that plan is recorded, with all its chunks."""
    body = json.loads(data)
    chunks = len(session.children(znodes.ASKED) or ())
    return (body["plan"], body["chunks"]) == (plan, chunks)
