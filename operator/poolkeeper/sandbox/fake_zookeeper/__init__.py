"""A fake ZooKeeper in this process: deterministic, without threads, with faults on demand.

    clock = VirtualClock()
    server = FakeZooKeeper(clock)
    client = FakeClient(server, chroot="/kafka", plan=Script(seed=7, rate=0.01).plan())
    client.commit([CreateNode("/a", b"1"), CheckNode("/b", 0)])
    server.log                                # `transactions`, as a real server's log has them

It behaves as a real server does in what is listed in `tree`, `server`, `watches`, `acl` and
`connection`, and no further: no quotas, containers, reconfiguration or persistent watches. `faults`
says what goes wrong with the n-th call of a client. `stored` has its nodes in a real ZooKeeper.
"""

from poolkeeper.sandbox.fake_zookeeper.connection import FakeClient
from poolkeeper.sandbox.fake_zookeeper.faults import Call, Fault, FaultKind, Faults, Script
from poolkeeper.sandbox.fake_zookeeper.server import FakeZooKeeper

__all__ = ["Call", "FakeClient", "FakeZooKeeper", "Fault", "FaultKind", "Faults", "Script"]
