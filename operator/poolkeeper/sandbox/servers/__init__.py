"""Real servers on this machine: one ZooKeeper and Kafka brokers, each a JVM.

In comes what a sandbox is made of (`settings`); out come addresses that are ready to be used.

Read `kafka_cluster`, `artifacts` (jars, by Maven), `processes` and `launch` (lives tied to an
owner), `readiness`, `records` (what another process needs to end or clean up a sandbox).
"""
