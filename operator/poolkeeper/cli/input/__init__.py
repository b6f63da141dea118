"""The input of commands: options, files, prompts, signals, and the systems they select.

In come the words of the command line, out go checked values, opened systems and what was read of
them. Read `options` and `operator_options`, then the folders `files` (what lies on a disk) and
`clusters` (what is open, and what is read of it); `output_options` (what is written to),
`supposed_groups` (a consumer group, from words), `confirmation`, `interrupts` and `bounded_files`.
"""
