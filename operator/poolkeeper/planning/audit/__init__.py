"""The last word before a write: whether a plan is lawful, counted without the planner's code.

In come a Plan, what is declared and what was observed; out goes nothing, or every violation. The
audit derives its own figures on purpose: it imports no room of `planning` but `rules`, the paths of
moves and where they stand.

Read `audit` (the questions in their order), `fast_path` (moves that are lawful at a glance),
`incremental` (what a plan changes alone), `excess` and `headroom_excess` (how far from lawful),
`moves` and `steps`, `violations` (what is found).
"""
