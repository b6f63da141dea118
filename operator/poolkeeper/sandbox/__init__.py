"""Throw-away Kafka clusters on this machine: a real ZooKeeper and real brokers, or ZooKeeper alone.

    from poolkeeper.sandbox import BrokerSpec, Sandbox, SandboxSpec, spread

    with Sandbox.start(SandboxSpec(brokers=spread(3), kafka="3.9.2")) as sandbox:
        sandbox.zookeeper          # "127.0.0.1:20001"
        sandbox.connect            # "127.0.0.1:20001/kafka", with the cluster's chroot
        sandbox.bootstrap          # "127.0.0.1:20002,127.0.0.1:20003,127.0.0.1:20004"
        sandbox.broker(1).pid
        sandbox.log_dirs(1)        # (…/broker-1/d0, …/broker-1/d1)
        sandbox.transaction_log()  # the folder of ZooKeeper's log
        sandbox.kill(1)            # SIGKILL; registered until the session times out
        sandbox.await_gone(1)      # … and now it is not
        sandbox.start_broker(1)    # same data, same port; returns when it is registered
        sandbox.stop(2)            # graceful
        sandbox.add_broker(BrokerSpec(4, "a"))
        sandbox.kill_zookeeper(); sandbox.start_zookeeper()

    SandboxSpec(brokers=spread(20), kafka="2.3.1", simulated=True, speed=10)  # of any release

`spread(n)` gives brokers 1..n on racks a, b, c in turn; `SandboxSpec()` alone is a ZooKeeper
without brokers; settings of all brokers or of one are pairs (key, value) in the two specs.
A start takes about 4 s for 3 brokers (jars there), an end 0.1 s. Processes of a sandbox end with
its owner even if that is killed; its folder is then removed by the next sandbox.

Java and Maven must be installed; jars are downloaded at the first use. The package imports
nothing of `zk` and `brokers`, and has its own words for paths and records, so that it cannot share
our bugs.
"""

from poolkeeper.sandbox.servers.kafka_cluster import Sandbox, take_down, take_down_all
from poolkeeper.sandbox.servers.settings import BrokerSpec, SandboxSpec, spread

__all__ = ["BrokerSpec", "Sandbox", "SandboxSpec", "spread", "take_down", "take_down_all"]
