"""From layouts to what a plan says: moves, steps, bounds, identity, and the plan as JSON.

In come Layouts; out go Move and Step values, the plan's hash and fingerprint, and its documents.

Read `moves` and `paths` (moves between brokers), `new_partitions`, `manual_placement`, `log_dirs`,
`topic_steps` (everything else that a plan does), `lower_bounds` (how near to the fewest moves),
`identity` (hash and fingerprint), `plan_json` and `plan_reading` (out and in), `reuse` (whether the
plan that waits for a person is still the one to ask about), `cool_down` (what of a plan waits since
balance ran not long ago).
"""
