"""The throttles of a run: those it needs, their rate, and those that no run accounts for.

In come the moves of a run and the throttles that are set, out go the throttles to set and to
restore. Read `throttles`, then `unlimited_moves` (those that no throttle can limit),
`adaptive_rate` (the next rate, from what was measured) and `left_throttles` (those that nobody
accounts for).
"""
