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
