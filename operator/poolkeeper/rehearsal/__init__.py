"""What a plan will do, seen before it is done: the real passes on a simulated copy of the cluster.

    traced = engine.rehearse(cluster, desired, Settings(), make_plan)
    document.to_json(traced)

In comes a cluster (a snapshot, or one read live, which is never written to) and what is declared.
The copy is a ZooKeeper in process (`loading`) with simulated brokers; `executor` runs the passes
of `reconcile` on it as `poolkeeper apply` would, in virtual time; `recorder` watches what happens
to brokers, disks and partitions. Out comes a `values.Rehearsal`.

Read `values`, `engine`, `loading`, `recorder`, `executor` with `fake_session`,
`simulated_cluster` and `broker_client`, then `faults` and what builds on several rehearsals.
"""
