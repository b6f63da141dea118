"""What a plan leaves undone, and which constraints keep it from more.

In come Layouts and declared specs; out go PlanProblems with their reasons and numbers, and what
each pool still has room for. Nothing here changes a plan.

Read `problems` (what a layout leaves), `health` (what is wrong without a plan), `failed_log_dirs`,
`drained_brokers`, `capacity_conflicts`, `bin_packing`, `capacity_report`, `growth_report`,
`oversized_partitions`, `incoming_load`, then `remaining_capacity` and `survivable_failures`;
`unclean_elections` (what a config costs).
"""
