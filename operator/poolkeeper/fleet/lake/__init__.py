"""Where the tables of a fleet lie: any URI that Spark reaches, and which of its files count.

    ROOT/TABLE/day=2026-11-21/run=ID/part-*.parquet       rows of many clusters, written once
    ROOT/current/step=STEP/day=2026-11-21/VERSION.parquet which run counts, cluster by cluster
    ROOT/manifests/VERSION.parquet                        what is declared
    ROOT/runs/ID.json                                     runs under way, killed, replaced
    ROOT/attempts/RUN/TABLE/*.arrow                       rows that no table has yet

Read `lake` (runs, what counts, what is swept), `attempts` (rows before Spark writes them),
`entries` (a row of `current`), `versions` (what counts, and two processes at once), `manifests`,
`objects` (small objects, whole or not there), `filesystems` (a URI and its credentials for Arrow),
`s3_file` (reads of a few bytes), `reading` (the rows of one cluster), `damage` (a file that cannot
be read), `steps` (which tables each writes), `views` (SQL over the rows that count).
"""
