"""The loop of passes over one cluster: for ever, or until a plan is carried out.

In come a cluster's connections and what is declared for it; out goes the outcome of every pass.

Read `loop` (for ever, as in `poolkeeper run`; a `loop_config` is what it is given, `session_passes`
are those with one session) and beside it `drive` (to the end of a plan, as in `poolkeeper apply`).
Both use `open_pass` (session, brokers, journal), `broker_link` (brokers, pass after pass),
`silent_brokers` (who of them has not answered yet), `wake_ups` (what ends a wait), `transfer_rate`
and `audit_notes`. `session_identity` sees that a Secret was rotated. `person_requests` is what a
person asks of a run: to stop, to roll back, to resume.
"""
