"""A report as one HTML page, with pictures in SVG. Values in, text out.

Read `page`, `markup` (escaping), `styles`, `script`, `frame` (what a server puts around a page),
`pictures`, `timelines`, `group_timelines`.
"""
