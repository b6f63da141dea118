"""Real servers on this machine: one ZooKeeper and Kafka brokers, each a JVM.

In come a sandbox's `settings`; out come addresses of servers that are ready.

Read `kafka_cluster`, `artifacts` (jars, by Maven), `class_archives` (faster starts), `processes`
and `launch` (processes that die with their owner), `readiness`, `records` (what another process
needs to end or clean up a sandbox).
"""
