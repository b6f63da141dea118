"""The tables of a fleet: their columns, their files, and clusters and plans as rows.

Read `schemas` (one description of each table), `parquet` (Arrow and files),
`cluster_rows`, `plan_rows`, `codecs`, `snapshot_file`.
"""
