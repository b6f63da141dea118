"""The parts of a plan: what a person can approve by itself.

In comes a plan, with what is declared and observed. Out come its parts, plans of some of them, or a
plan whose first parts are those that were shown before. Read `split`, `choose`, `keep`,
`platform_first`.
"""
