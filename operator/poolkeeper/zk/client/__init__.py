"""One ZooKeeper session: blocking calls with deadlines, bulk reads, versioned transactions.

In come paths, and operations as values. Out come Nodes, or our own errors. kazoo is used here and
in the sandbox only.

Read `session` (the calls), `connections` and `auth` (connecting), `operations` and `transactions`
(writes), `nodes`, `multiread` (many nodes in one request), `watches`, `failures`, `gc_pause`.
"""
