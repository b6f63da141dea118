"""Planning: from what is declared and what was observed to a lawful plan, and to its stages. Pure.

In come `model` values (Desired, Cluster, Records); out go a Plan with its problems and bounds, and
the next Stage of a plan. Nothing here reads a clock, a file or a server, and nothing is random.

Read `planner` first, top to bottom: it names the rooms in the order in which they are used. A room
imports only rooms named before it here: `facts` (what problems say), `problem` (arrays),
`run_state` (where a plan under way stands), `constraints` (the laws as numbers), `placement` (which
replica goes where), `goals` (balance), `layout` (one pool, then all pools), `diagnosis` (what is
left undone, and why), `proposals` (moves and steps), `audit` (the last word, counted
independently), `parts` (what can be approved by itself), `staging` (what runs at once). `rules`
says what the laws are for one cluster, for the audit, staging and reports. `lawful_plan` plans
again without the topics that the audit found unlawful.
"""
