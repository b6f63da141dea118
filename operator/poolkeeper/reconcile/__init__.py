"""One pass over one cluster: observe, plan, decide, act, report.

In: the declared state, what the pass is allowed to do, perhaps a plan of a Rebalance. Out: an
`Outcome`. Read `cluster` first: it is the pass, from top to bottom; then the folders `plans` (what
is done without a run), `observe` (every reading), `decide` (what is decided, without reads and
writes) and `act` (every write). The inputs of a pass are in `context`, `authority` and `access`;
`pass_memory` is what the process remembers of earlier passes. `preview` is a pass without writes,
and `recorded_run` what it tells of a run. `steps_during_run` is what goes on beside a run.
`adoption` hands topics over that exist, before a plan is made. `plan_to_approve` keeps the plan
that a person is asked to approve (`decide.approval` says what of it is approved). `rate_signals`
measures what the adaptive throttle goes by. `config_checks` asks the brokers about topic configs.
`clock_jumps` sees that a clock was set back. `answer_cache` keeps what was found out last.
"""
