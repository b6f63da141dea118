"""Planning of big clusters in worker processes, so that one never delays the others.

What comes in: what is declared, observed and recorded of one cluster. What goes out: its plan, the
very one that `make_plan` makes; or `Unavailable`, for this pass of this cluster alone.
Read in this order: `pool` (our side), `worker` (the child process), `wire` (bytes between them).

No library's pool does this. Pebble's workers share their pipes: when one is killed while it reads
its cluster, the others' work and all later work is lost; and a worker at work outlives a parent
that is killed. With loky every killed worker ends the whole pool, and a task has no deadline. Both
pickle a cluster of 200,000 partitions in one go: three times the processor time of `wire`.
"""
