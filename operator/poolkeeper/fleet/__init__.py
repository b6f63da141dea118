"""Planning for many clusters: tables in, tables out, step after step, by Spark.

    snapshot → features → plan → budget → report

Every step reads tables and writes tables. `storage` has their columns, `lake` says where they lie
and which of their rows count. `stages` has the steps: what one does for one cluster is a plain
function that knows nothing of Spark; `engines` has Spark spread these functions over executors, and
write what they make. `schedule` puts plans into waves under one budget. `report_tables` are
the figures that reports show beside plans.
"""
