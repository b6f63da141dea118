"""Who leads: one holder of a Lease, and standbys that watch it.

Read `leases` (the rules, pure), `leader_election` (the thread), `leader_fence` (writes for the
holder alone).
"""
