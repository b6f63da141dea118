"""ZooKeeper as simulated brokers use it: `session`, implemented over kazoo in `kazoo_session`.

`multi_read` reads many nodes in one request, which kazoo cannot.
"""
