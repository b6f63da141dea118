"""One ZooKeeper session: blocking calls with deadlines, bulk reads, versioned transactions.

In come paths, and operations as values. Out come Nodes, or our own errors. kazoo is used here and
in the sandbox only.

Read `session` (the calls), `connections` (connecting, and what is refused: a chroot without a
Kafka), `refusals` (why a server takes no session) and `auth`, `operations` and `transactions`
(writes, and the ACLs of new nodes), `size_limit` (how large they may be), `nodes`, `multiread`
(many nodes in one request), `watches`, `failures`, `gc_pause`.
"""
