"""The next stage of a plan: the largest set of steps that may run at once, lawful before and after.

In come a Plan, how far its moves are, the live Cluster and the limits; out goes a Stage, or why
there is none. `forecast` predicts all stages of a plan with the same code.

Read `next_stage`, `candidates` (steps that may go), `queues` (in which order), `packer` with
`limits`, `excess_ledger` and `filler` (how much fits), then full disks: `disk_order`,
`disk_reserve`, `disk_deadlock`; and how long it takes: `makespan_bound`, `barrier_cost`,
`large_entries`.
"""
