"""Leader election: one holder of a Lease, and standbys that watch it.

Read `leader_election` (the rules, pure), `leader_elector` (the thread), `leader_fence` (refuses the
writes of any instance that does not hold the Lease), `lease_owner` (what the Lease goes with),
`lease_reader` (whether anybody holds it, for those who only read it).
"""
