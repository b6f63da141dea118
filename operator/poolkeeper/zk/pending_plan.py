"""The plan that waits for a person's approval, as it lies in ZooKeeper.

Who takes over asks about the same plan, and `show` prints it. As with a run, a node says what its
children are, with their digest, and is written before them: what was not written to its end is as
good as nothing. It is gone when the cluster is as declared.
"""

import json

from poolkeeper.model.plans import Plan
from poolkeeper.zk import runs, znodes
from poolkeeper.zk.client.operations import Create, Delete
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import Journal


def remember(journal: Journal, plan: Plan | None) -> None:
    """Record the plan, or that there is none; nothing is written if it is so already.

    A plan that is too large is not recorded: who takes over may then ask about another.
    """
    node = journal.session.read(znodes.ASKED)
    if node is not None:
        if plan is not None and _is_whole(journal.session, node.data, plan.hash):
            return
        journal.commit(*journal.emptying(znodes.ASKED), Delete(znodes.ASKED, node.version))
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
    """Return the plan, or `None` if there is none or not all of it."""
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
