"""The process of a sandbox's simulated brokers.

    python -m poolkeeper.sandbox.simulation.process CONFIG


CONFIG is a file of `settings.simulated_config`. The process runs until it is killed, like a broker;
it ends by itself, with the cause as its last words, only if the simulation itself fails. Brokers
are started when ZooKeeper serves, and find its chroot there, as Kafka makes it too.
"""

import gc
import json
import sys
import time
from pathlib import Path

from poolkeeper.sandbox.clock import RealClock
from poolkeeper.sandbox.servers import readiness
from poolkeeper.sandbox.servers.settings import BrokerSpec
from poolkeeper.sandbox.simulation import Simulation, SimulationSpec
from poolkeeper.sandbox.simulation.zookeeper.kazoo_session import KazooSession

SESSION_S = 18.0
SERVED_S = 300.0
START_MS = 300_000
YOUNG_OBJECTS = 100_000
"""Millions of small values live as long as the process: looking for garbage among them is waste."""


def main(config: Path) -> None:
    """Simulate until killed."""
    gc.set_threshold(YOUNG_OBJECTS, 50, 50)
    body = json.loads(config.read_text(encoding="utf-8"))
    clock = RealClock(body["speed"])
    zookeeper, chroot = body["zookeeper"], body["chroot"]
    brokers = tuple(BrokerSpec(**broker) for broker in body["brokers"])
    # A session asked for before ZooKeeper serves may get no answer until it times out.
    deadline = time.monotonic() + SERVED_S
    with readiness.session(zookeeper, deadline, lambda: None) as client:
        client.ensure_path(chroot)
    simulation = Simulation(
        SimulationSpec(brokers, kafka=body["kafka"]),
        lambda: KazooSession(zookeeper + chroot, clock, SESSION_S),
        clock,
    )
    clock.start()
    clock.call(simulation.start, START_MS)
    clock.wait()  # raises what ended the simulation


if __name__ == "__main__":
    main(Path(sys.argv[1]))
