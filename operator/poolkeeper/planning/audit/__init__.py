"""The last check before a write: whether a plan is lawful, counted without the planner's code.

In come a Plan, what is declared and what was observed; out goes nothing, or every violation. The
audit derives its own figures on purpose. Of `planning` it imports only `rules`, the paths of moves
and how far they are.

Read `audit` (the questions in their order), `fast_path` (moves that need no full check),
`incremental` (what a plan changes alone), `excess` and `headroom_excess` (how far from lawful),
`moves` and `steps`, `violations` (what the audit finds).
"""
