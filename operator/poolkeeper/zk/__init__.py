"""ZooKeeper: sessions, bulk reads, znode codecs, observation, the journal, versioned writes.

In come paths in a cluster's chroot. Out go a Cluster (`reading`), what is kept of runs (`journal`)
and writes (`apply`, `throttling` with `throttle_entities`), each one transaction and fenced
(`fenced_session`, `fencing`). `server_clock` is the time by which ages are counted.
`cluster_access` offers all this in the interface that `reconcile` needs. `znodes` has the paths,
`codecs` what is behind them, `client` the session. `kraft` tells of a migration that forbids
every write to Kafka's nodes. `repair` finds and mends what is wrong with nodes.
"""
