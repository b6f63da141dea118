"""Rebalances: one plan over many clusters, from the request to the last wave. No Spark in it.

    request → a response for each cluster, read and planned → offers to the clusters' loops

Who plans, the operator itself or a Job of many executors, gets the same request as the same text
and gives the same response as the same text.

Read `scope` (which clusters and pools), `request`, `response`, `engines` (who plans:
`local_engine`, `planning_jobs`), `task_runner` and `plan_cluster` (one cluster), `planning_task`
(when it is asked again), `records` and `record_store` (what is kept), `offers`, `lifecycle`,
`metrics`, `text_chunks`.
"""
