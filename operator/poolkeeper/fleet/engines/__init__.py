"""Who does the tasks of a fleet: this machine's processes, or Spark. Both give the same.

Read `engines`, `task_groups`, `deadlines`, `spark` (the only module that imports pyspark),
`executor`.
"""
