"""The one style sheet: colours by role, in light and dark, and black on white for print.

Text has a contrast of 4.5 or more to what is behind it, in both schemes. So each colour of bars has
its own ink: `--on0` is that of texts on `--u0`.
"""

_LIGHT = """
--paper: #fff; --ink: #1b2430; --soft: #5a6675; --line: #dce2e9; --wash: #f5f7fa;
--good: #0b6b47; --bad: #b3341b; --before: #c9d2dc; --after: #0072b2; --gone: #bb4e00;
--u0: #d55e00; --u1: #e69f00; --u2: #c0609f; --u3: #009e73; --u4: #0072b2;
--on0: #0b0f14; --on1: #0b0f14; --on2: #0b0f14; --on3: #0b0f14; --on4: #fff;
--h0: #f0f4f8; --h1: #d6e5f2; --h2: #a9cbe6; --h3: #f6d9a3; --h4: #eda765; --h5: #c8501e;
--h-ink: #1b2430; --h5-ink: #fff;
"""
_DARK = """
--paper: #12171d; --ink: #e4e9ef; --soft: #9aa6b4; --line: #2c3540; --wash: #1a2129;
--good: #4cc38a; --bad: #ff8b6b; --before: #46525f; --after: #56b4e9; --gone: #ff9d57;
--u0: #ff7d3b; --u1: #f0b429; --u2: #d884bd; --u3: #2fc79a; --u4: #56b4e9;
--on0: #0d1116; --on1: #0d1116; --on2: #0d1116; --on3: #0d1116; --on4: #0d1116;
--h0: #1c242d; --h1: #21394f; --h2: #2b5a82; --h3: #6d5320; --h4: #8a5220; --h5: #e0622f;
--h-ink: #e4e9ef; --h5-ink: #0d1116;
"""

_ON_BARS = "\n".join(f"svg text.on{n} {{ fill: var(--on{n}); }}" for n in range(5)) + "\n"

CSS = (
    f":root {{{_LIGHT}}}\n@media (prefers-color-scheme: dark) {{ :root {{{_DARK}}} }}\n"
    f"@media print {{ :root {{{_LIGHT}}} }}"
    + """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem; max-width: 90rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .4rem 0; max-width: 60rem; overflow-wrap: anywhere; }
header p { color: var(--soft); font-size: 1.05rem; }
code { font: .92em ui-monospace, "DejaVu Sans Mono", monospace; unicode-bidi: isolate;
  white-space: nowrap; }
code.long { white-space: normal; overflow-wrap: anywhere; }
ul.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.8rem, 1fr));
  gap: .6rem; padding: 0; margin: 1.2rem 0; list-style: none; }
.tile { background: var(--wash); border: 1px solid var(--line); border-radius: .5rem;
  padding: .6rem .8rem; }
.tile b { display: block; font-size: 1.35rem; line-height: 1.3; }
.tile span { color: var(--soft); font-size: .88rem; display: block; overflow-wrap: anywhere; }
.tile.good b { color: var(--good); } .tile.bad b { color: var(--bad); }
table { border-collapse: separate; border-spacing: 0; margin: .5rem 0;
  font-size: .92rem; min-width: 40%; }
caption { text-align: left; color: var(--soft); padding: .3rem 0; }
th, td { padding: .28rem .7rem .28rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
th.n, td.n { text-align: right; padding-left: .5rem; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
th.n { white-space: normal; }
td[class*=h] { color: var(--h-ink); padding-right: .5rem; border-color: var(--paper);
  border-width: 2px; border-style: solid; }
td.h0 { background: var(--h0); } td.h1 { background: var(--h1); } td.h2 { background: var(--h2); }
td.h3 { background: var(--h3); } td.h4 { background: var(--h4); }
td.h5 { background: var(--h5); color: var(--h5-ink); }
.scroll { overflow-x: auto; }
.scroll.long { max-height: 34rem; overflow: auto; border-bottom: 1px solid var(--line); }
.scroll.long thead th { position: sticky; top: 0; background: var(--paper); z-index: 1;
  box-shadow: 0 1px 0 var(--line); }
td.t { min-width: 16rem; }
td.c code { font-size: .85em; white-space: nowrap; }
table[data-by="0"] tr > :first-child { position: sticky; left: 0; background: var(--paper); }
.scroll.long table[data-by="0"] th:first-child { z-index: 2; } 
a { color: var(--after); } a code { text-decoration: underline; }
.find { position: sticky; top: 0; z-index: 2; background: var(--paper); padding: .5rem 0;
  display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; color: var(--soft); }
.find[hidden], [hidden] { display: none; }
.find input { font: inherit; color: var(--ink); background: var(--wash); width: 16rem;
  max-width: 100%; border: 1px solid var(--line); border-radius: .35rem; padding: .25rem .5rem; }
.find input::placeholder { color: var(--soft); opacity: 1; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; margin: 0;
  cursor: pointer; text-align: inherit; }
th button:hover { color: var(--ink); }
th button::after { content: "\\2195"; opacity: .6; padding-left: .25em; }
th[aria-sort] button::after { opacity: 1; color: var(--ink); }
th[aria-sort=ascending] button::after { content: "\\2191"; }
th[aria-sort=descending] button::after { content: "\\2193"; }
:focus-visible { outline: 2px solid var(--after); outline-offset: 1px; }
.more { color: var(--soft); }
section > ul:not([class]) { padding-left: 1.1rem; } section > ul li { margin: .25rem 0; }
figure { margin: 1rem 0; } figcaption { margin-bottom: .3rem; color: var(--soft); }
figcaption b { color: var(--ink); }
svg { display: block; width: 100%; min-width: 60rem; max-width: 66rem; height: auto;
  font: 11px system-ui, "DejaVu Sans", sans-serif; }
svg text { fill: var(--soft); }
svg text.b { fill: var(--ink); font-weight: 600; }
svg:not(:has(text)) { min-width: 0; }
svg .grid { stroke: var(--line); fill: none; } svg .lane { fill: var(--wash); }
svg .cursor { stroke: var(--ink); stroke-width: 1.5; }
svg .curve { stroke: var(--after); stroke-width: 1.5; fill: none; }
svg .limit { stroke: var(--gone); stroke-dasharray: 4 3; fill: none; }
.scrub { position: sticky; top: 0; z-index: 2; background: var(--paper); max-width: 66rem;
  padding: .3rem 0; color: var(--soft); }
.scrub input { display: block; width: 100%; margin: .2rem 0; }
.scrub output { display: block; color: var(--ink); min-height: 3em; }
@media (min-width: 62.5rem) { .scrub input { width: 91.1%; margin-left: 7.7%; }
  .scrub output { min-height: 1.5em; } }
svg text.gone { fill: var(--gone); }
svg .fault { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 2; fill: none; }
"""
    + _ON_BARS
    + """
.before { fill: var(--before); background: var(--before); }
.after { fill: var(--after); background: var(--after); }
.u0 { fill: var(--u0); background: var(--u0); } .u1 { fill: var(--u1); background: var(--u1); }
.u2 { fill: var(--u2); background: var(--u2); } .u3 { fill: var(--u3); background: var(--u3); }
.u4 { fill: var(--u4); background: var(--u4); }
.c0 { fill: var(--h0); background: var(--h0); } .c1 { fill: var(--h1); background: var(--h1); }
.c2 { fill: var(--h2); background: var(--h2); } .c3 { fill: var(--h3); background: var(--h3); }
.c4 { fill: var(--h4); background: var(--h4); } .c5 { fill: var(--h5); background: var(--h5); }
svg .hit { fill: transparent; }
ul.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .2rem 0 .4rem;
  list-style: none; color: var(--soft); font-size: .88rem; }
i.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px;
  margin-right: .4em; box-shadow: inset 0 0 0 1px var(--line); }
i.fault { width: .2em; height: 1em; background: var(--bad); box-shadow: none; }
summary { cursor: pointer; color: var(--soft); padding: .3rem 0; }
footer { margin-top: 2.5rem; padding-top: .8rem; border-top: 1px solid var(--line);
  color: var(--soft); font-size: .88rem; }
@media print { html { font-size: 11px; } body { max-width: none; padding: 0; font-size: 1rem; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, .tile { break-inside: avoid; } h2 { break-after: avoid; }
  .scroll, .scroll.long { overflow: visible; max-height: none; }
  td.t { min-width: 0; } td.c code { white-space: normal; }
  .find, .scrub, th button::after { display: none; }
  table[data-by] tr > * { position: static !important; }
  svg { min-width: 0; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""
)

PICTURE_CSS = (
    f"svg {{{_LIGHT}}}"
    + """
svg { font: 11px system-ui, "DejaVu Sans", sans-serif; }
text { fill: var(--soft); }
text.b { fill: var(--ink); font-weight: 600; }
.paper { fill: var(--paper); } .lane { fill: var(--wash); }
.grid { stroke: var(--line); fill: none; }
.u0 { fill: var(--u0); } .u1 { fill: var(--u1); } .u2 { fill: var(--u2); }
.u3 { fill: var(--u3); } .u4 { fill: var(--u4); }
"""
    + _ON_BARS
)
"""The same for a picture that is a file of its own: light, and without a page around it."""
