"""What the problems of a plan are about: a frozen class for each kind, with numbers and names.

In come figures of the planner; out goes a reason to decide on (`model.problems`), and the sentence
for people.

Read `topics`, `topic_owners`, `new_partitions`, `pools`, `capacity`, `balance`, `log_dirs`,
`health`, `records` (by what a problem concerns), `conflicts` (the smallest set of constraints that
conflict), `phrases` (parts of sentences).
"""
