"""The simulated copy of a cluster: the ZooKeeper in process, and brokers in virtual time.

In come a cluster as observed and the settings of a rehearsal, out goes a copy that the real passes
can be run on. Read `simulated_cluster`, `loading` (a snapshot into the copy), `fake_session` (how
the passes reach its ZooKeeper), `broker_client` and `rehearsed_brokers` (how they reach its
brokers), `snapshot_sizes` (what the brokers tell, added to what was observed), `embedded` (a real
ZooKeeper to copy into).
"""
