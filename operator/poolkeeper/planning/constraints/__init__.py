"""The laws and the balance goals of one pool, as numbers by broker and by partition.

In comes a PoolProblem; out go bounds and bands: how evenly racks can be used (`racks`), what must
leave which broker (`evictions`), what has no source to copy from (`sources`), what a pool may take
(`quotas`, `headroom`), what a goal evens out (`measures`), and between which figures it must lie
(`bands`).
"""
