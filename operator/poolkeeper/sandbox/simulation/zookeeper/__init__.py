"""What simulated brokers ask of ZooKeeper: `session`, over kazoo in `kazoo_session`."""
