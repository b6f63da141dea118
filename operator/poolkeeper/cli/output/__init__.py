"""What a command prints: plans, statuses, tables and progress as text, and values for JSON.

Read `printing` and `ink` (colours and tables), `plan_text` and `plan_lines`, `brokers_table`,
`capacity_table`, `history_table`, `status_values`, `status_text`, `left_undone` (exit code 4),
`progress`; the live pages `run_page` and `plan_page`; of rehearsals `rehearsal_text`; of studies
`loss_text`, `keys_text`, `consumers_text`.
"""
