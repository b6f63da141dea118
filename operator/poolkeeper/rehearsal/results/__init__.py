"""What is told of a rehearsal, and what builds on several of them.

In comes one `values.Rehearsal` or the means to make more, out go JSON, a page and conclusions. Read
`outcomes` (with faults beside without them), `foretelling` (what `plan --rehearse` adds to a plan),
`suggestions` (the limits of the shortest run that keeps its margins), `document` (JSON) and `page`.
"""
