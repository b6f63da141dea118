"""Planning for many clusters: Parquet in, Parquet out, step after step, with Spark or without.

    snapshot → features → plan → budget → report

Every step reads tables and writes tables (`schemas`), in a folder that `store` lays out. What a
step does for one cluster is a plain function of this room that knows nothing of Spark; `sessions`
and the modules `spark_*` spread these functions over executors, and nothing else imports pyspark.
"""
