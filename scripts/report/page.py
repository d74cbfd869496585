"""The page around the sections: looks for light, dark, phone and paper, and the little that a click does."""
import re
from html import escape

from report import answers as answered, curves, facts, goals, operations, resources, runs, sections

STYLE = """
:root{color-scheme:light dark;--text:#1a1a1a;--soft:#595959;--line:#d0d0d0;--page:#fff;--best:#0072B2;--same:#56B4E9;--slow:#D55E00}
@media(prefers-color-scheme:dark){:root{--text:#ececec;--soft:#b0b0b0;--line:#444;--page:#161616;--best:#4aa8e0;--same:#c3e2f5;--slow:#f08a4b}polyline,circle,rect,.legend line{filter:brightness(1.4)}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1200px;padding:1rem;font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--page)}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}h2 a{color:inherit;text-decoration:none}
nav a{margin-right:1em}a{color:var(--best)}section{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}td{font-variant-numeric:tabular-nums}
tbody th{font-weight:500;min-width:14rem;max-width:26rem;overflow-wrap:anywhere}thead th{cursor:pointer;max-width:11rem;overflow-wrap:break-word}td{white-space:nowrap}td small{display:block;color:var(--soft)}
td.words{min-width:14rem;max-width:24rem;white-space:normal;color:var(--soft)}td:has(details){white-space:normal;max-width:24rem}td.best,.key .best{border-left:5px solid var(--best);font-weight:700}
td.same,.key .same{border-left:5px solid var(--same)}td.slower,.key .slower{border-left:5px dashed var(--slow)}
td.unknown,.key .unknown{border-left:5px dotted var(--soft)}.key span{padding:0 .8rem 0 .4rem}.limits{color:var(--soft);max-width:60rem}
rect.cell{fill:var(--best);stroke:var(--page)}.heat{background:color-mix(in srgb,var(--best) calc(var(--share)*70%),transparent)}figure{margin:.4rem 0}figcaption{font-size:.85rem;color:var(--soft)}
svg{width:100%;max-width:560px;font:11px system-ui,sans-serif;fill:var(--text)}svg.wide{max-width:1000px}line.grid{stroke:var(--line);stroke-width:1}
line.axis{stroke:var(--soft);stroke-dasharray:4 4}div.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(320px,1fr));gap:.6rem}
.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}.legend svg{width:26px;height:10px;margin-right:.4rem}
.columns{display:flex;flex-wrap:wrap;gap:2rem}.columns>div{flex:1 1 20rem}.facts{columns:22rem;padding-left:1.1rem}.facts li,code{overflow-wrap:anywhere}
tr:target{outline:3px solid var(--best)}
@media print{nav,.filter,details:not([open]){display:none}section{overflow:visible}h2{break-after:avoid}figure,tr{break-inside:avoid}
body{max-width:none}table{font-size:.75rem}th,td{padding:.2rem .3rem}td,td.words{white-space:normal;min-width:0}tbody th{min-width:0}td small{white-space:nowrap}div.grid{grid-template-columns:repeat(3,1fr)}}
"""

SCRIPT = """
for (const table of document.querySelectorAll('table.sortable')) {
  table.querySelectorAll('thead th').forEach((head, column) => {
    head.tabIndex = 0; head.title = 'sort';
    const sort = () => {
      const body = table.tBodies[0], down = head.dataset.down !== 'true';
      const value = row => { const cell = row.cells[column], n = parseFloat(cell.dataset.value); return isNaN(n) ? cell.textContent : n; };
      [...body.rows].sort((a, b) => { const x = value(a), y = value(b);
        const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
        return down ? order : -order; }).forEach(row => body.append(row));
      table.querySelectorAll('thead th').forEach(other => { delete other.dataset.down; other.removeAttribute('aria-sort'); });
      head.dataset.down = down; head.setAttribute('aria-sort', down ? 'ascending' : 'descending');
    };
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
}
const flags = JSON.parse(document.getElementById('flags')?.textContent ?? '[]');
for (const own of document.querySelectorAll('details.again')) own.addEventListener('toggle', () => {
  own.querySelector('code').textContent = ['strobe run', ...own.dataset.flags.split(' ').map(place => flags[place])].join(' ');
});
for (const head of document.querySelectorAll('tbody tr[id] th'))
  head.addEventListener('click', () => { location.hash = head.parentNode.id; });
for (const filter of document.querySelectorAll('input.filter')) {
  const table = document.querySelector('table[data-name="' + filter.dataset.table + '"]');
  const apply = () => { for (const row of table.tBodies[0].rows)
    row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase()); };
  filter.addEventListener('input', () => { apply(); history.replaceState(null, '', '#keep=' + encodeURIComponent(filter.value)); });
  if (location.hash.startsWith('#keep=')) { filter.value = decodeURIComponent(location.hash.slice(6)); apply(); }
}
"""


def page(rows, environments, title, peaks=None, kinds=(), answers=None):
    """The whole page; `answers`: what `strobe compare --by` says of the rows; `kinds`: sections that kinds of training ask for; `peaks`: (fp32 flops, fp64 flops, bytes) a second of the device that measured rows ran on."""
    body = [answered.table(rows, answers or {}), goals.times_to_metric(rows), sections.scaling(rows), sections.phases(rows), curves.losses(rows),
            curves.metrics(rows), resources.heat_map(rows), resources.by_rank(rows), resources.memory(rows),
            resources.memory_over_time(rows), operations.rooflines(rows, peaks), operations.whole_epochs(rows), sections.predicted(rows),
            *(facts.of_kind(rows, kind) for kind in kinds),
            facts.troubles(rows), facts.table(rows), facts.shared(rows), facts.environments(rows, environments)]
    body = [part for part in body if part]
    links = "".join(f'<a href="#{name}">{title}</a>' for part in body
                    for name, title in re.findall('<section id="([^"]*)"><h2><a [^>]*>([^<]*)</a>', part))
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1><p>{escape(answered.summary(rows, answers or {}))}</p>"
            f"<nav aria-label='sections'>{links}</nav>{''.join(body)}<script>{SCRIPT}</script></body></html>\n")
