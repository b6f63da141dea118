"""The tables of a fleet: their columns, their files, and clusters and plans as rows.

Read `table_schema` (what a table is), `schemas` (one description of each table) with
`report_schemas` (those of reports), `parquet` (Arrow and files), `row_values` (what rows never
hold), `cluster_rows`, `plan_rows`, `codecs`, `snapshot_file`.
"""
