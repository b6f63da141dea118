"""Reports for people: plans and fleets as HTML and Markdown. Values in, text out; no I/O.

Read `values` (the inputs of a report), `plan_report` with `sections`, `changes`, `balance` and
`holdings`; the room `fleet`; `consumer_page`; `predicted` (a plan with stages and troubles).
`document` is a report before it is rendered, by `html` or `markdown`.
"""
