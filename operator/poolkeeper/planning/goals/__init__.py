"""Balance goals, one after another, each as far as laws and earlier goals leave room.

In comes a pool's layout that meets the laws; out goes one with its brokers as near to their bands
as those allow.

Read `optimizer` (the order of goals), `local_search`, `held_replicas` and `replica_swaps` (single
moves and exchanges between two brokers), then the spread of each topic: `topic_counts`,
`topic_targets`, `topic_flow`, `topic_spread`; last `spared_moves`, which balance can do without.
"""
