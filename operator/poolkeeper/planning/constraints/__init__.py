"""The laws and the balance goals of one pool, as numbers by broker and by partition.

In comes a PoolProblem; out go bounds and bands. `racks`: how evenly racks can be used. `evictions`:
which replicas must leave which broker. `sources`: which partitions have no source to copy from.
`quotas`, `headroom`: what a pool may take. `measures`: what a goal balances. `bands`: between which
figures it must lie.
"""
