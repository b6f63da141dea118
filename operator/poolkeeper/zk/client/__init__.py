"""One ZooKeeper session: blocking calls with deadlines, bulk reads, versioned transactions.

In come paths and operations as values; out come Nodes, or errors in our words. kazoo is used here
and in the sandbox only.

Read `session` (the calls), `connections` and `auth` (getting connected to the right place),
`operations` and `transactions` (writes), `nodes`, `multiread` (many nodes in one request),
`watches`, `failures`, `gc_pause`.
"""
