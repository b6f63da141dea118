"""What a stage does to the laws: it leaves the cluster no worse, whatever becomes of it.

In come steps, one at a time, as they would join a stage; out goes whether they may.

Read `step_checks` (all that can forbid a step: laws, disks, in-sync replicas), `excess_ledger` and
`list_changes` (how a step changes the laws), `lawful_stage` (steps that compensate for others, and
groups that may only go together).
"""
