"""The operator's processes and threads: who watches resources, who reconciles, who reports.

In come watch events of the API server. Out go reconcile passes over each cluster, statuses and
events. One instance leads. All state that matters is in ZooKeeper and the API server.

Read `operator` (puts everything together), `watch` (kopf: fills the cache and wakes threads),
`resource_cache` (the declared resources), `cluster_loops` and `loop` (one loop per cluster; with
`settle_time`, `transfer_rate` and `audit_notes`), `person_requests` (stop, roll back, resume),
`rebalance_controller` (Rebalances), `release_check`; then `reporting` (statuses and events).
"""
