/* The page's own controls: provenance on hover and focus, tables that sort and filter, series that switch off. Without it the page is whole, but still. */
'use strict';
(function () {
  const tip = document.getElementById('tip');
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  function make(name, text, attributes) {
    const e = document.createElement(name);
    if (text) e.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
    return e;
  }

  /* ---- a tip next to an element: its provenance ---- */

  let owner = null; /* the element the tip belongs to; null: the pointer */

  function place(box) {
    const margin = 8, r = tip.getBoundingClientRect();
    const x = Math.min(box.left, window.innerWidth - r.width - margin);
    const y = box.bottom + margin + r.height > window.innerHeight ? Math.max(margin, box.top - r.height - margin) : box.bottom + margin;
    tip.style.left = Math.max(margin, x) + 'px';
    tip.style.top = y + 'px';
  }

  function show(text, of) {
    owner = of instanceof Element ? of : null;
    tip.textContent = text;
    tip.hidden = !text;
    if (text) place(owner ? owner.getBoundingClientRect() : of);
  }

  const hide = () => show('', null);

  function follow() {
    if (owner) place(owner.getBoundingClientRect());
    else hide();
  }

  /* A title becomes the tip, and a description for screen readers. */
  function describe(e) {
    const text = e.getAttribute('title');
    e.dataset.tip = text;
    e.removeAttribute('title');
    e.setAttribute('aria-description', text);
  }

  function initFigures() {
    for (const e of all('.figure')) {
      describe(e);
      e.tabIndex = 0;
      e.setAttribute('role', 'note');
      e.addEventListener('mouseenter', () => show(e.dataset.tip, e));
      e.addEventListener('mouseleave', hide);
      e.addEventListener('focus', () => show(e.dataset.tip, e));
      e.addEventListener('blur', hide);
    }
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape') hide(); });
    document.addEventListener('scroll', follow, { capture: true, passive: true });
  }

  /* ---- tables ---- */

  /* "FLOP/s 1246900000000: what it is and where it comes from" */
  function provenance(cell) {
    const table = cell.closest('table'), head = table.tHead.rows[0].cells[cell.cellIndex];
    const value = cell.dataset.v ? head.textContent.trim() + ' ' + cell.dataset.v + ': ' : '';
    return value + (head.dataset.tip || '') + '. ' + table.caption.textContent;
  }

  function cellKey(row, column) {
    const cell = row.cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
  }

  function compare(a, b) {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1; /* what is not known comes last */
    return a.localeCompare(b, 'en', { numeric: true });
  }

  function sort(table, column) {
    const heads = Array.from(table.tHead.rows[0].cells), head = heads[column], body = table.tBodies[0];
    const down = head.getAttribute('aria-sort') === 'none' ? head.classList.contains('n') : head.getAttribute('aria-sort') === 'ascending';
    for (const h of heads) h.setAttribute('aria-sort', 'none');
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const rows = Array.from(body.rows).map((row) => ({ row, key: cellKey(row, column) }));
    rows.sort((a, b) => (typeof a.key === typeof b.key && down ? -1 : 1) * compare(a.key, b.key));
    for (const x of rows) body.append(x.row);
  }

  function initSort(table) {
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = make('button', head.textContent, { type: 'button' });
      describe(head);
      button.setAttribute('aria-description', head.dataset.tip);
      head.removeAttribute('aria-description');
      head.setAttribute('aria-sort', 'none');
      head.replaceChildren(button);
      button.addEventListener('click', () => sort(table, column));
      button.addEventListener('mouseenter', () => show(head.dataset.tip, button));
      button.addEventListener('mouseleave', hide);
      button.addEventListener('focus', () => show(head.dataset.tip, button));
      button.addEventListener('blur', hide);
    });
  }

  /* Rows in which every word of the field occurs. */
  function filter(table, text, output) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const row of table.tBodies[0].rows) {
      const line = Array.from(row.cells, (c) => c.textContent).join(' ').toLowerCase();
      row.hidden = !words.every((w) => line.includes(w));
      n += !row.hidden;
    }
    output.textContent = n + ' of ' + table.tBodies[0].rows.length + ' rows';
  }

  function initFilter(table) {
    const id = table.id + '-filter', box = make('div', '', { class: 'filter' });
    const input = make('input', '', { type: 'search', id, autocomplete: 'off' });
    const output = make('output', table.tBodies[0].rows.length + ' rows', { for: id });
    box.append(make('label', 'Filter rows', { for: id }), input, output);
    table.parentElement.before(box);
    input.addEventListener('input', () => filter(table, input.value, output));
    if (table.parentElement.classList.contains('screen')) box.classList.add('screen');
  }

  /* Arrow keys walk the cells of a focused table; the tip follows. */
  function initWalk(table) {
    const region = table.parentElement, keys = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    let here = null;
    function move(cell) {
      if (here) here.classList.remove('here');
      here = cell;
      if (!cell) return hide();
      cell.classList.add('here');
      cell.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      show(provenance(cell), cell);
    }
    region.addEventListener('keydown', (event) => {
      const step = keys[event.key];
      if (!step || event.target !== region) return;
      event.preventDefault();
      const rows = Array.from(table.tBodies[0].rows).filter((r) => !r.hidden);
      const row = here && !here.parentElement.hidden ? rows.indexOf(here.parentElement) + step[0] : 0;
      const column = here ? here.cellIndex + step[1] : 0;
      const target = rows[Math.min(Math.max(row, 0), rows.length - 1)];
      if (target) move(target.cells[Math.min(Math.max(column, 0), target.cells.length - 1)]);
    });
    region.addEventListener('blur', () => move(null));
    table.tBodies[0].addEventListener('mouseover', (event) => {
      const cell = event.target.closest('td, th');
      if (cell) show(provenance(cell), cell);
    });
    table.addEventListener('mouseleave', () => { if (owner !== here) hide(); });
  }

  function initTables() {
    for (const table of all('.table > table')) {
      initSort(table);
      initWalk(table);
      if (table.hasAttribute('data-filter')) initFilter(table);
    }
  }

  /* ---- charts ---- */

  /* Series by name: groups of the picture with that title. */
  function seriesOf(svg) {
    const series = new Map();
    for (const group of all('g[id*="gnuplot_plot_"]', svg)) {
      const title = group.querySelector(':scope > title'), name = title ? title.textContent.trim() : '';
      if (!name) continue;
      if (!series.has(name)) series.set(name, []);
      series.get(name).push(group);
    }
    return series;
  }

  /* Colours of a shape and what is in it, black and white apart. */
  function coloursOf(root) {
    const colours = new Set();
    for (const e of [root, ...all('[fill], [stroke], [color]', root)])
      for (const name of ['fill', 'stroke', 'color']) {
        const colour = e.getAttribute(name);
        if (colour && /^(#|rgb)/.test(colour) && !/^#(fff|ffffff|000|000000)$/i.test(colour)) colours.add(colour.toLowerCase());
      }
    return colours;
  }

  /* Labels and their lines are outside of the series' groups, in its colour: they go with the last series of that colour. */
  function syncLabels(svg, series, isOn) {
    const shown = new Set(), hidden = new Set();
    for (const [name, groups] of series)
      for (const g of groups)
        for (const colour of coloursOf(g)) (isOn(name) ? shown : hidden).add(colour);
    const own = (e) => e.closest('g[id*="gnuplot_plot_"]') || e.querySelector('g[id*="gnuplot_plot_"]');
    for (const e of all('[fill], [stroke], [color]', svg)) {
      if (own(e) || e.closest('defs')) continue;
      const colours = coloursOf(e);
      e.classList.toggle('off', colours.size > 0 && [...colours].every((c) => hidden.has(c) && !shown.has(c)));
    }
  }

  function initKeys(figure) {
    const svg = figure.querySelector('svg'), on = new Map();
    const series = seriesOf(figure), list = make('ul', '', { class: 'keys', 'aria-label': 'Series' });
    for (const [name, groups] of series) {
      const button = make('button', name, { type: 'button', 'aria-pressed': 'true' }), item = make('li');
      button.addEventListener('click', () => {
        const pressed = button.getAttribute('aria-pressed') === 'false';
        button.setAttribute('aria-pressed', String(pressed));
        for (const g of groups) g.classList.toggle('off', !pressed);
        on.set(name, pressed);
        syncLabels(svg, series, (other) => on.get(other) !== false);
      });
      item.append(button);
      list.append(item);
    }
    if (series.size > 1) figure.querySelector('figcaption').after(list);
  }

  /* The nearest element around with a title. */
  function titleOf(e, root) {
    for (; e && e !== root; e = e.parentElement) {
      const title = e.querySelector(':scope > title');
      if (title) return title.dataset.tip || title.textContent.trim();
    }
    return '';
  }

  /* Our tip at once in place of the browser's after a second. */
  function initTips(svg) {
    for (const title of all('title', svg)) {
      title.dataset.tip = title.textContent.trim();
    }
    svg.addEventListener('mousemove', (event) => {
      const text = titleOf(event.target, svg);
      show(text, { left: event.clientX + 8, top: event.clientY - 4, bottom: event.clientY + 8 });
    });
    svg.addEventListener('mouseleave', hide);
  }

  function initCharts() {
    for (const figure of all('figure.chart')) {
      const svg = figure.querySelector('svg');
      if (!svg) continue;
      initKeys(figure);
      initTips(svg);
    }
  }

  initFigures();
  initTables();
  initCharts();
})();
