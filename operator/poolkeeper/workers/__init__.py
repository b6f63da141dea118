"""Planning of big clusters in worker processes, so that one never delays the others.

What comes in: what is declared, observed and recorded of one cluster. What goes out: its plan, the
very one that `make_plan` makes; or `Unavailable`, for this pass of this cluster alone.
Read in this order: `pool` (our side), `worker` (the child process), `wire` (bytes between them).

No library's pool: they share pipes or fail as one. With pebble, a worker that is killed while it
reads its cluster ends the work of all workers and those to come; with loky, any that is killed
does; and a worker at work outlives a parent that is killed. A pipe of its own for each worker costs
no more code than mending that. And both pickle a cluster of 200,000 partitions in one go, which
takes three times the time of `wire`, while other threads wait.
"""
