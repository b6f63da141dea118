"""The commands over many clusters at once, from tables to tables, by Spark.

In come manifests and a place for tables, out go tables, plans, a schedule and a report. Read
`fleet` (the commands and the options they share), `steps` (snapshot, features, plan), `waves`
(budget, report), `outcomes` (what is printed, and the exit code) and `tables` (show, ddl, forget).
`answer` and `spark_executor` are run by Jobs and by Spark's executor pods, not by people.
"""
