"""What we write on objects of the API server: statuses, events, finalizers.

In come values by object; out go writes, each repeated until it is there or no longer wanted.

Read `work_queue` and `rate_limit` (what is written when), `conditions` (whether anything changed),
`status_writer`, `events`, `finalizers`.
"""
