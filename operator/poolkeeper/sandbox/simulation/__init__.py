"""Simulated Kafka brokers and their controller, on a ZooKeeper that may be real or fake.

    clock = VirtualClock()
    server = FakeZooKeeper(clock)
    spec = SimulationSpec(spread(4), kafka="2.0.1")
    simulation = Simulation(spec, lambda: FakeClient(server), clock)
    simulation.start()
    clock.run_until(lambda: simulation.controller, 10_000)
    simulation.set_size("t", 0, 5_000_000)
    simulation.kill(3)
    clock.advance(6_000)

They write to ZooKeeper what real ones were seen to write: the same nodes in the same order, in the
same transactions, by the same sessions. What they do beside ZooKeeper (messages, replication, log
directories) is as much as is needed for that. Versions: `profiles`. Read `cluster` (all of it),
`world` (clock, chance, network), `codecs` (znodes), then the rooms `broker` and `controller`;
`process` runs it beside a real ZooKeeper. Not there: clients of Kafka,
groups, transactions, the balancing of leaders by the controller itself, failing directories, KRaft.
"""

from poolkeeper.sandbox.servers.settings import BrokerSpec, spread
from poolkeeper.sandbox.simulation.cluster import Simulation, SimulationSpec
from poolkeeper.sandbox.simulation.world import Randomness

__all__ = ["BrokerSpec", "Randomness", "Simulation", "SimulationSpec", "spread"]
