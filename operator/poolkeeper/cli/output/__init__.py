"""What a command prints: plans, statuses, tables and progress as text, and values for JSON.

In come values, out go lines and JSON values; the one decision is `left_undone`, which is exit code
4. Read `printing` and `ink` (colours and tables), `standard_streams`, `hints` (commands to paste),
`left_undone`, `left_alone` (documents of others), then the folders `plans`, `runs` and `studies`.
"""
