"""A report as one HTML page, with pictures in SVG. Values in, text out.

Read `page`, `markup` (escaping), `styles`, `pictures`, `timelines`.
"""
