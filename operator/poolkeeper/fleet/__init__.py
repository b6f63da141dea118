"""Planning for many clusters: Parquet in, Parquet out, step after step, with Spark or without.

    snapshot → features → plan → budget → report

Every step reads tables and writes tables, whose columns and files are in `storage`. `stages` has
the steps: what one does for one cluster is a plain function that knows nothing of Spark; `engines`
spread these functions over processes or over Spark's executors. `schedule` puts plans into waves
under one budget. `report_tables` are the figures that reports show beside plans.
"""
