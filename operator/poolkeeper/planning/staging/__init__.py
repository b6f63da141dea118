"""The next stage of a plan: the largest slice that may run at once, lawful before and after.

In come a Plan, where its moves stand, the live Cluster and the limits; out goes a Stage, or why
there is none. Everything is predicted from the same code: `forecast` runs all stages of a plan.

Read `next_stage`, `candidates` (moves that may go), `queues` (in which order), `packer` with
`limits`, `excess_ledger` and `filler` (how much fits), then full disks: `disk_order`,
`disk_reserve`, `disk_deadlock`; and how long it takes: `makespan_bound`, `barrier_cost`,
`large_entries`.
"""
