"""One pool's planning problem as numpy arrays.

In come the observed Cluster and the declared pools and topics; out goes a PoolProblem: a row per
partition, a column per replica slot, brokers by row number.

Read `pool_membership` (which pool a topic lives in, and what may be done to it), `topic_ownership`
(which of several resources that name a topic is followed), `topic_rights` (which of them may be),
`adoption_requests` (what namespaces ask to take over), `internal_topics`, `unseen_brokers` (typos),
`awaited_replicas` (a config that comes after replicas), `arrays` and `grouping` (vectors, brokers,
groups of rows), `partitions` (all partitions of a cluster), `offline_replicas` (what was in log
directories that failed), `pool_problem` and `pool_rows` (one pool, and the load of everything
else).
"""
