"""What a pass does without a run: a plan is made or taken, and what is allowed of it carried out.

In come what is declared, what was observed and what is allowed; out goes the Outcome of the pass.

Read `follow_plan` (the plan of what is declared, or a confirmed one), `follow_external_plan` (that
of a Rebalance), `carry_out` (the early steps of a `due_plan`, and the begin of a run), `late_steps`
(what comes when nothing is left to move) and `audited_plans` (plans held against the placement
rules).
"""
