"""The cluster as a pass sees it: the live state, our records, and a run under way.

In come the view of a cluster and what is declared, out go an `Observation` and, of a run, a
`RunView`; nothing is written. Read `observation` (which refuses another cluster than the declared
one) with `gone_brokers` (which missing brokers count as gone) and `absences` (by what was seen of
them), then `run_view` (a run, step by step) with `cancelled_moves` (what others took back) and
`settling` (whether the brokers have applied the throttles).
"""
