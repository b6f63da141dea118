"""The operator's processes and threads: who watches resources, who reconciles, who reports.

In come watch events of the API server. Out go reconcile passes over each cluster, statuses and
events. One instance leads. All state that matters is in ZooKeeper and the API server.

Read `operator` (puts everything together), `watch` (kopf: fills the cache and wakes threads),
`api_source` (what it lists), `retry_pauses` (between attempts of kopf), `resource_cache` (the
declared resources), `cluster_loops` (starts and ends a `cluster_loop` for each cluster),
`removed_definitions` (what went with its CRD), the folder `loops` (the passes of a loop),
`settle_time` (how long resources may still be arriving), `rebalance_controller` (Rebalances; a
`rebalance_entry` for each), `release_check`, and the folder `reporting` (statuses and events).
"""
