"""The laws and the balance goals of one pool, as numbers by broker and by partition.

In comes a PoolProblem; out go bounds and bands. `racks`: how evenly racks can be used. `evictions`:
which replicas must leave which broker, `uneven_lists` which for the racks alone, `lowered_factors`
which where a replication factor falls. `sources`: which partitions have no source to copy from.
`outages`: which missing brokers are not replaced. `capacity`: which brokers are eligible, and what
they may hold. `headroom`: what a pool may hold. `quotas`: what a pool accepts. `topic_size`: how
many partitions fit into a topic's znode. `topic_configs`: which configs may be written. `measures`:
what a goal balances. `bands`: between which figures it must lie.
"""
