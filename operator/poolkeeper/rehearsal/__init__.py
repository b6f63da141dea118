"""What a plan will do, seen before it is done: the real passes on a simulated copy of the cluster.

    traced = engine.rehearse(cluster, desired, Settings(), make_plan)
    document.to_json(traced)

In comes a cluster (a snapshot, or one read live, which is never written to) and what is declared.
Out comes a `values.Rehearsal`. Read `values` and `engine`, then the folder `cluster_copy` (a
ZooKeeper in process with simulated brokers); `executor` and `driving` run the passes of `reconcile`
on it as `poolkeeper apply` would, in virtual time; `recorder`, with `curves` and `peaks`, watches
what happens to brokers, disks and partitions; `fault_specs` and `faults` are what may go wrong
meanwhile. The folder `results` makes JSON, a page and conclusions of one rehearsal or several.
"""
