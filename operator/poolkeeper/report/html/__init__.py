"""A report as one HTML page, with pictures in SVG. Values in, text out.

Read `page`, `markup` (escaping), `styles`, `script`, `pictures`, `timelines`,
`group_timelines`.
"""
