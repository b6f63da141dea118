"""Which replica goes to which broker: minimum-cost flows over classes of replicas.

In come a PoolProblem with its evictions and bands; out go new replica rows. Replicas that are alike
form a class; a flow between classes and brokers is solved and rounded back to single replicas.

Read `rounds` (the loop), `replica_classes`
and `open_slots` (the nodes), `flow` (the bounds and costs), `giving` (what classes cost by size),
`network` (OR-tools), `rounding` and `broker_choice` (back to replicas), `byte_targets`,
`byte_choice` and `byte_surplus` (where bytes matter besides counts), `initial` (partitions that do
not exist yet), `capacity_excess` (what is still beyond what brokers may hold).
"""
