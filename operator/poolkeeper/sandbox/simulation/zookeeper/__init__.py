"""ZooKeeper as simulated brokers use it: `session`, implemented over kazoo in `kazoo_session`."""
