"""Planning for a Rebalance: asked for as a text, answered as a text, by whoever plans.

The operator itself may plan, or a Job of many executors. Both get the same request as the same text
and give the same response as the same text.

Read `request`, `response` and `text_chunks` (the texts), `engines` (who plans: `local_engine` or
`planning_jobs`), `task_runner` (what an engine runs for one cluster), `planning_task` (when
planning is requested again).
"""
