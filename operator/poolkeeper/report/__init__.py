"""What people read: plans and fleets as HTML and Markdown. Values in, text out; no I/O.

Read `values` (what a report is made of), `plan_report` and `fleet_report` with `sections`,
`changes`, `balance` and `holdings`; `document` is a report before it is written, by `html` or
`markdown`.
"""
