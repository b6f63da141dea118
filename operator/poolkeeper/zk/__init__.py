"""ZooKeeper: sessions, bulk reads, znode codecs, observation, the journal, versioned writes.

In come paths of a cluster's chroot; out go a Cluster (`observe`, `readings`, `inference`), the
journal's values (`journal`, `runs`, `pending_plan`) and writes (`apply`, `throttling`), each one
transaction. `cluster_access` is all of it as `reconcile` asks for it. `znodes` and `json_bodies`
are the codecs, `client` the session.
"""
