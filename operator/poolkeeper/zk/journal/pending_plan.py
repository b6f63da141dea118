"""The plan that waits for a person's approval, as stored in ZooKeeper.

The next executor asks for approval of the same plan, and `show` prints it. As with a run, a node
holds the digest of its children, and is written before them: a plan that was not written completely
counts as absent. It is removed when the cluster is as declared.

A damaged one is written anew: it is only what a person was asked, and the question is asked again.
One that a later release wrote is left to that release.
"""

import json

from poolkeeper.errors import DamagedNode, NodeDamage
from poolkeeper.model.execution.runs import CHUNKS_MAX
from poolkeeper.model.plans import Plan
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Create, Delete
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.our_nodes import PendingPlanBody
from poolkeeper.zk.journal import runs
from poolkeeper.zk.journal.journal import Journal


def remember(journal: Journal, plan: Plan | None) -> None:
    """Record the pending plan; None removes it. Nothing is written if nothing changed.

    A plan that is too large is not recorded; the next executor may then ask about another plan.
    """
    node = journal.session.read(znodes.ASKED)
    if node is not None:
        known = _body_unless_damaged(node.data)
        if isinstance(known, NodeDamage) and known.later_version:
            return
        if plan is not None and _is_whole(journal.session, known, plan.hash):
            return
        journal.commit(*journal.delete_below(znodes.ASKED), Delete(znodes.ASKED, node.version))
    if plan is None:
        return
    chunks = runs.encode_plan(plan)
    if len(chunks) > CHUNKS_MAX:
        return
    body = {"version": 1, "plan": plan.hash, "digest": runs.digest_of(chunks)}
    data = json.dumps(body | {"chunks": len(chunks)}, sort_keys=True).encode()
    journal.commit(Create(znodes.ASKED, data))
    for i, chunk in enumerate(chunks):
        journal.commit(Create(znodes.plan_chunk(i, znodes.ASKED), chunk))


def read(session: Session) -> Plan | None:
    """Return the plan, or `None` if it is absent or incomplete. Raises `DamagedNode`."""
    node = session.read(znodes.ASKED)
    if node is None:
        return None
    body = our_nodes.decode(znodes.ASKED, node.data, PendingPlanBody)
    return runs.decode_plan(_chunks(session, body), body.digest)


def read_if_whole(session: Session) -> Plan | None:
    """Return the plan; `None` also if it is damaged, for who can ask about another one."""
    try:
        return read(session)
    except DamagedNode:
        return None


def _body_unless_damaged(data: bytes) -> PendingPlanBody | NodeDamage:
    try:
        return our_nodes.decode(znodes.ASKED, data, PendingPlanBody)
    except DamagedNode as damaged:
        return damaged.damage


def _is_whole(session: Session, body: PendingPlanBody | NodeDamage, plan: str) -> bool:
    """Whether that plan is recorded, with all its chunks as they were written."""
    if isinstance(body, NodeDamage) or body.plan != plan:
        return False
    return runs.digest_of(_chunks(session, body)) == body.digest


def _chunks(session: Session, body: PendingPlanBody) -> list[bytes]:
    """Read the chunks of the plan, as many as there are."""
    nodes = session.read_many([znodes.plan_chunk(i, znodes.ASKED) for i in range(body.chunks)])
    return [each.data for each in nodes if each is not None]
