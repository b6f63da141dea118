"""What the operator tells of its clusters: statuses, events, finalizers, whole plans.

In come the outcomes of passes. Out go writes on the API server, in the background.

Read `reporter` (every resource of a cluster after a pass) and `rebalance_reporter` (Rebalances);
`pass_assembly` (what a pass can report on if resources were edited meanwhile), `outage` (what is
said while a cluster cannot be reached), `plan_keeper` (the whole plan, in ConfigMaps),
`operator_names` (another operator on the same cluster), `reported_status` (when a status is written
again), `answered_requests` (requests of persons, taken off once answered), `event_records` (an
event, also in the log), `background_writer`.
"""
