"""Leader election: one holder of a Lease, and standbys that watch it.

Read `leases` (the rules, pure), `leader_election` (the thread), `leader_fence` (refuses the writes
of any instance that does not hold the Lease).
"""
