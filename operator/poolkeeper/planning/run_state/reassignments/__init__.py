"""The requests in ZooKeeper: whose they are, and what becomes of them.

In come `/admin/reassign_partitions`, the journal and the cluster, out goes who works on each entry
and what it would do (`requests`). Read then `stalls` (a request that is stuck), `orphans` (moves of
others that lost their request) and `lost_runs` (what a run requested whose record is lost).
"""
