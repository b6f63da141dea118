"""The layout of a pool: evict, place, balance, choose leaders; then all pools together.

In comes a PoolProblem; out goes a Layout: the replica rows wanted, and what they were before.

Read `pool_layout` (one pool), `replication_factor` (whose is raised where not all can be),
`leaving_replicas` (which replicas leave where there is a choice),
`leaders` (preferred leaders by reordering alone), `changes` (what differs, and why), of which
`balance_causes` tells what balance mends, `all_pools` (pools in turn, new partitions included),
`layout_cache` (which need not be laid out again).
"""
