"""A real ZooKeeper for the length of a block, with a chroot for each rehearsal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from poolkeeper.model.topology import Cluster
from poolkeeper.sandbox import Sandbox, SandboxSpec
from poolkeeper.sandbox.clock import VirtualClock
from poolkeeper.sandbox.simulation.zookeeper.kazoo_session import KazooSession
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode

HEAP_MIB = 256
PARTITIONS_OF_A_MIB = 150
"""600,000 nodes need 1 to 2 GiB of the server."""


@contextmanager
def zookeeper(cluster: Cluster) -> Iterator[Callable[[], str]]:
    """Start a server for the block; gives a function that returns a new chroot's connect string."""
    partitions = sum(len(topic.partitions) for topic in cluster.topics.values())
    heap = HEAP_MIB + partitions // PARTITIONS_OF_A_MIB
    numbers = count(1)
    with Sandbox.start(SandboxSpec(zookeeper_heap_mib=heap)) as sandbox:

        def new_chroot() -> str:
            chroot = f"/rehearsal-{next(numbers)}"
            client = KazooSession(sandbox.zookeeper, VirtualClock())
            client.commit([CreateNode(chroot)])
            client.close()
            return sandbox.zookeeper + chroot

        yield new_chroot
