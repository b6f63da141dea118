"""What a command is told: options, files, prompts, signals; and the systems that they lead to.

Read `options`, `targets` (to open systems), `cluster_reading` (a cluster read once),
`snapshot_files`, `confirmation`, `interrupts`, `operator_options`.
"""
