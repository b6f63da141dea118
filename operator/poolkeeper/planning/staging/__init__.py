"""The next stage of a plan: the largest set of steps that may run at once, lawful before and after.

In come a Plan, how far its moves are, the live Cluster and the limits; out goes a Stage, or why
there is none. `forecast` predicts all stages of a plan with the same code.

Read `next_stage`, `entries` (the steps that may go next, by column), `candidates` (when enough
replicas stay in sync), `queues` with `side_loads` (in which order), `capped_topics` (topics that
are slow whatever brokers do), `large_nodes` (topics of which nothing moves), `packer` with `limits`
and `stage_capacity`, then the folders `filling` (how much fits), `lawful` (what a stage does to the
laws) and `disks` (space for the copies that are made); and how long it takes: `forecast`,
`makespan_bound`, `barrier_cost`.
"""
