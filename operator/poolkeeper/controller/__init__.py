"""The operator's processes and threads: who watches resources, who reconciles, who reports.

In come watch events of the API server. Out go reconcile passes over each cluster, statuses and
events. One instance leads. All state that matters is in ZooKeeper and the API server.

Read `operator` (puts everything together), `watch` (kopf: fills the cache and wakes threads),
`resource_cache` (the declared resources), `cluster_loops` and `loop` (one loop per cluster, for
ever) and beside it `drive` (the loop of `poolkeeper apply`, to the end of a plan). Both use
`open_pass` (session, brokers, journal), `broker_link` (brokers, pass after pass), `news` (what ends
a wait), `transfer_rate` and `audit_notes`. Then `settle_time` (how long resources may still be
arriving), `person_requests` (stop, roll back, resume), `rebalance_controller` (Rebalances),
`release_check`, and the folder `reporting` (statuses and events).
"""
