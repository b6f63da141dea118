"""Rebalances: one plan over many clusters, from the request to the last wave. No Spark in it.

    request → a response for each cluster, read and planned → external plans for the clusters' loops

Read `scope` (which clusters and pools), the folder `planning` (who plans, and how it is asked),
`plan_cluster` (one cluster), `records`, `record_store` and `text_store` (what is kept, and where),
`plans_to_offer` (which clusters' loops are offered their plan), `deletion` (when a deleted
Rebalance may go), `lifecycle` (the state of a Rebalance), `metrics`.
"""
