"""One pass over one cluster: observe, plan, decide, act, report.

In: what is declared, what the pass may do, perhaps a plan of a Rebalance. Out: an `Outcome`.
Read `cluster` first: it is the pass, from top to bottom; `plan` follows, then `run`, `act`. What is
decided without a write is in `steps`, `log_dir_moves`, `run`, `in_flight`, `external_plan` and
`cool_down`, as values of `decisions` mostly; what a pass works with is in `context`, `authority`,
`access`, `observation`; all that it does is in `act`, `approval` and `stall_recovery`.
"""
