"""The steps of a fleet's pipeline, each from table to table: snapshot, features, plan, waves.

Read `pipeline` (which clusters, and who does them), then `snapshot`, `load_features` with
`features`, `plan` with `plan_parts` (a giant in parts), `waves` (the budget), `day_report` with
`plan_pages`.
"""
