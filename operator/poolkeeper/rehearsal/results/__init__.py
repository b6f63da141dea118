"""What comes out of one rehearsal or several: comparisons, advice, JSON and pages.

In comes one `values.Rehearsal` or the means to make more, out go JSON, a page and conclusions. Read
`outcomes` (with faults beside without them), `foretelling` (what `plan --rehearse` adds to a plan),
`suggestions` (the limits of the shortest run that keeps its margins), `document` (JSON) and `page`.
"""
