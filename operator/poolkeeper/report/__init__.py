"""Reports for people: plans and fleets as HTML and Markdown. Values in, text out; no I/O.

Read `values` (the inputs of a report), `plan_report` and `fleet_report` with `sections`, `changes`,
`balance` and `holdings`; `document` is a report before it is rendered, by `html` or `markdown`.
"""
