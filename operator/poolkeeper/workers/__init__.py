"""Planning of large clusters in worker processes, so that one never delays the others.

In comes what is declared, observed and recorded of one cluster. Out goes the plan that `make_plan`
makes, or `Unavailable`, for this pass of this cluster alone.
Read `pool` (the parent's side), `worker` (the child process), `wire` (bytes between them).

Existing process pools do not suffice. Pebble's workers share their pipes: if one is killed while it
reads its cluster, the others' work and all later work is lost; and a busy worker outlives a parent
that is killed. With loky every killed worker ends the whole pool, and a task has no deadline. Both
pickle a cluster of 200,000 partitions in one go: three times the processor time of `wire`.
"""
