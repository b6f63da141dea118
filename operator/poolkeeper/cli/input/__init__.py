"""The input of commands: options, files, prompts, signals, and the systems they select.

Read `options`, `targets` (which systems to open), `cluster_reading` (reads a cluster once), `looks`
(what a plan is made for), `status_reading`, `snapshot_files`, `fleet_features`, `fleet_files` (a
fleet's reports), `what_if` (supposes other brokers), `other_manifests` (to compare with),
`studied_cluster` (what a study is about), `key_files`, `supposed_groups`, `confirmation`,
`interrupts`, `operator_options`.
"""
