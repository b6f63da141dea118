"""One pass over one cluster: observe, plan, decide, act, report.

In: the declared state, what the pass is allowed to do, perhaps a plan of a Rebalance. Out: an
`Outcome`. Read `cluster` first: it is the pass, from top to bottom; then `plan`, `run`, `act`.
Decisions without writes are in `steps`, `log_dir_moves`, `run`, `in_flight`, `external_plan` and
`cool_down`, as values of `decisions`. The inputs of a pass are in `context`, `authority`, `access`,
`observation`. Its writes are in `act`, `approval` and `stall_recovery`.
"""
