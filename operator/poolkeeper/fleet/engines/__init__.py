"""Who does the tasks of a fleet: Spark. The only room that imports pyspark.

Read `engines` (what steps ask for), `results` and `histories` (what tasks give; no Spark in them),
`spark`, `session`, `releases` (one in driver and executors), `hadoop` (small objects), `progress`,
`task_groups`, `parallelism`, `deadlines`, `executor`, `worker_garbage`.
"""
