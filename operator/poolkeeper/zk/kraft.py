"""Whether the cluster migrates to KRaft, or has: no write of ours may go to Kafka's nodes then.

The KRaft controller claims the cluster in `/controller`, as a node that no session holds, and keeps
in `/migration` how far it is. From then on it writes its state to ZooKeeper and reads nothing of
what others write there. Who deletes its `/controller` lets a broker become a second controller.
"""

from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import UNREADABLE
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs.kafka_nodes import ControllerNode


def is_migrating(session: Session) -> bool:
    """Whether a KRaft controller leads; a migration that cannot be read counts as under way."""
    paths = (znodes.CONTROLLER, znodes.MIGRATION)
    found = session.read_many(paths, unreadable=UNREADABLE)
    controller, migration = (None if node is None else node.data for node in found)
    return ControllerNode.is_kraft(controller, migration)
