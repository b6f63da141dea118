"""The status of every resource after a pass: conditions, facts, events, finalizers.

In come the outcome of a pass and the resources; out go status bodies. Nothing is decided here.

Read `status_inputs` (the inputs of all statuses), `kafka_cluster` with `cluster_conditions` and
`left_run`, `resource_pool`, the folder `topic`, `rebalance`, `all_resources`; `plan_fields`,
`conditions`, `health`, `wording`, `events`, `decision_events`, `finalizers`.
"""
