"""Whether the cluster migrates to KRaft, or has: no write of ours may go to Kafka's nodes then.

The KRaft controller claims the cluster in `/controller`, as a node that no session holds, and keeps
in `/migration` how far it is. From then on it writes its state to ZooKeeper and reads nothing of
what others write there. Who deletes its `/controller` lets a broker become a second controller.

It claims the cluster in one transaction with a write of `/controller_epoch`. So a write that checks
the version which that node had *before* `/controller` was looked at comes before the claim, or is
refused.
"""

from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import UNREADABLE
from poolkeeper.zk.client.operations import Check
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs.kafka_nodes import ControllerNode


def is_migrating(session: Session) -> bool:
    """Whether a KRaft controller leads; a migration that cannot be read counts as under way."""
    return migrating_and_unclaimed(session)[0]


def migrating_and_unclaimed(session: Session) -> tuple[bool, tuple[Check, ...]]:
    """Return whether a KRaft controller leads, and the check that none claims the cluster later.

    There is no check where `/controller_epoch` is absent or cannot be read.
    """
    paths = (znodes.CONTROLLER_EPOCH, znodes.CONTROLLER, znodes.MIGRATION)
    epoch, *found = session.read_many(paths, unreadable=UNREADABLE)
    controller, migration = (None if node is None else node.data for node in found)
    unclaimed = () if epoch is None or epoch is UNREADABLE else (Check(paths[0], epoch.version),)
    return ControllerNode.is_kraft(controller, migration), unclaimed
