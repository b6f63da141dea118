"""Frozen values that all rooms share: the cluster as observed, the specs as declared, the plan.

Read `topology` (a cluster as observed), `specs` (what people declare), `plans` (what would be
done), `records` (what is remembered), `runs` (a plan being executed). `waits`, `actions`,
`refusals` and `problems` are reasons with their numbers; `outcomes` is the result of a pass.
`snapshots` is a cluster as a file. `versions` are Kafka's releases, the folder `topic_config` what
their topics can be set to.
"""
