"""Poolkeeper's own nodes: what is written there so that a run survives its process.

In come values of `model.execution`; out go nodes below `/poolkeeper`, and what was read of them.
Read `journal` (the run of a cluster, and its writes, all fenced), `runs` (the record of a run),
`records` (what outlives it), `throttle_records`, `history` (the runs that ended) and
`pending_plan` (what a person is asked about).
"""
