"""Values of plans that are carried out: what is recorded of them, and why they wait.

Read `runs` (a plan being executed), `records` (what is remembered between runs), `throttles` and
`history` first; then `wait_reasons` and `waits`, `actions` and `refusals`, which are reasons with
their numbers, and `outcomes`, the result of a pass; `punctuality` is how a run goes beside its
prediction, `person_requests` what a person asks of a run.
"""
