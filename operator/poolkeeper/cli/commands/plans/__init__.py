"""The commands around a plan of one cluster: make it, carry it out, watch it, end it.

In come the options that name a cluster and what is declared for it, out go the plan and the state
of its run as lines or JSON. Read `plan`, which makes plans for the others as well, and how they are
shown (`plan_output`), then `rehearse` (on a copy) and `apply` (on the cluster, or by an
`operator_approval` through the active operator; its plan is a `chosen_plan`, of a file a
`reviewed_plan`; an `apply_result` is what it tells in the end); of a run under way `status`, `show`
and `stop` with `rollback`; of one topic `why`, which takes the plan that there is
(`current_plan`); of the runs that ended `history`.
"""
