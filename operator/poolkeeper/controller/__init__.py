"""The operator's processes and threads: who hears of resources, who works, who reports.

In come events of the API server; out go passes of `reconcile` over each cluster, statuses and
events. One instance leads; all state that matters is in ZooKeeper and the API server.

Read `operator` (everything put together), `watch` (kopf: hears and wakes), `resource_cache` (what
is declared), `cluster_loops` and `loop` (a loop per cluster), `reporter` and `outage` (statuses and
events), `rebalance_controller` and `rebalance_reporter` (the same for Rebalances).
"""
