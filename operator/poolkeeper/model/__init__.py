"""Frozen values that all rooms share: the cluster as observed, the specs as declared, the plan.

Read `topology` (a cluster as observed), `specs` (what people declare), `plans` (what would be
done), then the folder `execution` (a plan being carried out). `problems` is why a plan leaves
something undone. `snapshots` is a cluster as a file. `partition_columns`, `move_columns` and
`replica_lists` are partitions and moves by column, where there are too many to look at one by one.
`versions` are Kafka's releases, the folder
`topic_config` what their topics can be set to.
"""
