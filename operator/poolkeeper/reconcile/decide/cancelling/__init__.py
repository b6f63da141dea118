"""Which moves of the request in flight are taken back, and how.

In comes the situation of a run, out goes a decision to begin or to go on with their return, or what
they wait for. Read `cancel`, then `cancel_candidates` (which moves shall be cancelled).
"""
