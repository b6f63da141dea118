"""Frozen values that all rooms share: the cluster as observed, the specs as declared, the plan.

Nothing here reads or writes; every room takes and gives these values. Read `topology` (a cluster as
observed), `specs` (what people declare, a value per resource) with `tenancy` (what tenants may
declare) and `desired` (all that is declared for one cluster), `plans` (what would be done), then
the folder `execution` (a plan being carried out). `problems` is why a plan leaves something undone.
`rebalances` is one plan over many clusters. The folder `snapshots` is a cluster as a file,
`readings` one reading of a cluster. The folder `columns` is for what is too many to look at one by
one. `versions` is Kafka's releases, the folder `topic_config` what their topics can be set to,
`topic_patterns` how their names are matched. `credentials` is who Poolkeeper is, `names` what its
resources are called on Kubernetes, `file_kinds` what a file is that was given for another kind.
"""
