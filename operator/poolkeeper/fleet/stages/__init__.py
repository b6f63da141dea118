"""The steps of a fleet's pipeline, each from tables to tables: snapshot, features, plan, waves.

Read `pipeline` (which clusters, and who does them), `publishing` (what is kept, made and
published), then `snapshot`, `features`, `plan` with `plan_parts` (a giant in parts), `waves` (the
budget), `day_report` with `day_clusters` (something of each cluster of a day), `whole_plan` (a plan
with its stages and parts) and `plan_pages`. `tasks` is what every task knows; `forgetting` takes
away what is gone for good.
"""
