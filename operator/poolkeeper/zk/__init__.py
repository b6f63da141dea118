"""ZooKeeper: sessions, bulk reads, znode codecs, observation, the journal, versioned writes.

In come paths in a cluster's chroot. Out go a Cluster (`observe`, `readings`,
`version_inference`), the journal's values (`journal`, `runs`, `records`, `history`,
`pending_plan`) and writes (`apply`, `throttling` with `throttle_records`), each one transaction and
fenced (`fencing`). `cluster_access` offers all this in the interface that `reconcile` needs;
what was read is kept while nothing is written (`kept_readings`).
`znodes` has the paths, `codecs` what is behind them, `client` the session. `repair` finds and mends
what is wrong with nodes.
"""
