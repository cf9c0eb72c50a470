// frame.js: Provides elements, figures with controls and tables, and shared parts of charts.

/// Makes an element: el('p', {class: 'x'}, 'text', child). Text is never parsed as markup.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/// Lets a name break after its underscores.
const foldable = (name) => name.replaceAll('_', '_\u200b');

/// The reader's choices, kept when a live page is redrawn.
const choices = new Map();

/// Saves a text file to the reader's downloads.
function saveText(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  el('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
const csvCell = (value) => value === null || value === undefined ? '' : /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
const saveCsv = (name, {columns, rows}) =>
  saveText(name + '.csv', 'text/csv', [columns.map((c) => c.title), ...rows].map((row) => row.map(csvCell).join(',')).join('\n') + '\n');

/// Makes a command line with a copy button.
function commandLine(text, what) {
  const copy = el('button', {type: 'button', class: 'quiet', onclick: () => navigator.clipboard?.writeText(text).then(() => { copy.textContent = 'Copied'; })}, 'Copy');
  return el('div', {class: 'command'}, what ? el('span', {}, what) : null, el('code', {}, text), copy);
}

/// Makes a table that scrolls sideways, also by the keyboard.
const scrolling = (...parts) => el('div', {class: 'scroll', tabindex: '0'}, el('table', {}, ...parts));

function dataTable({columns, rows}) {
  const cell = (tag, value, i) => el(tag, {class: columns[i].number ? 'n' : null}, value === null || value === undefined ? '' : String(value));
  return scrolling(el('thead', {}, el('tr', {}, ...columns.map((column, i) => cell('th', column.title, i)))),
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map((value, i) => cell('td', value, i))))));
}

/// Makes buttons for one of several options: [[value, text], ...].
function choice(key, options, redraw) {
  if (!options.some(([value]) => value === choices.get(key))) choices.set(key, options[0][0]);
  const group = el('span', {class: 'choice', role: 'group'});
  for (const [value, text] of options) {
    group.append(el('button', {type: 'button', 'aria-pressed': String(choices.get(key) === value), onclick: (event) => {
      choices.set(key, value);
      for (const button of group.children) button.setAttribute('aria-pressed', String(button === event.currentTarget));
      redraw();
    }}, text));
  }
  return group;
}

function dropdown(key, label, options, redraw) {
  if (!options.some(([value]) => value === choices.get(key))) choices.set(key, options[0][0]);
  const select = el('select', {onchange: () => { choices.set(key, options[select.selectedIndex][0]); redraw(); }},
    ...options.map(([value, text]) => el('option', {selected: value === choices.get(key)}, text)));
  return el('label', {}, label, select);
}

/// Makes a figure: {id, title, note, controls(redraw) -> nodes, draw(plot, width), table() ->
/// {columns, rows}, wide}. A change of width or choice calls `draw` again.
function figure(spec) {
  const note = el('p', {});
  const plot = el('div', {class: 'plot'});
  let width = 0;
  const redraw = () => {
    if (width < 1) return;
    plot.replaceChildren();
    note.textContent = typeof spec.note === 'function' ? spec.note() : spec.note ?? '';
    spec.draw(plot, width);
    if (details.open) fillTable();
  };
  const details = el('details', {}, el('summary', {}, 'As a table'));
  const fillTable = () => {
    while (details.children.length > 1) details.lastChild.remove();
    details.append(dataTable(spec.table()));
  };
  details.addEventListener('toggle', () => { if (details.open) fillTable(); });
  const save = el('button', {type: 'button', onclick: () => saveSvg(plot, spec.id)}, 'SVG');
  const node = el('figure', {id: spec.id, class: spec.wide ? 'wide' : null},
    el('figcaption', {}, spec.title ? el('h3', {}, spec.title) : null, note),
    el('div', {class: 'controls'}, ...(spec.controls ? spec.controls(redraw) : [])),
    plot, el('div', {class: 'under'}, spec.table ? details : null, save,
      spec.table ? el('button', {type: 'button', onclick: () => saveCsv(spec.id, spec.table())}, 'CSV') : null));
  const fit = (now) => {
    if (Math.abs(now - width) < 2) return false;
    width = now;
    return true;
  };
  // Draws after the caller has inserted the figure into the page, so that no frame shows it empty.
  queueMicrotask(() => { if (fit(plot.clientWidth)) redraw(); });
  new ResizeObserver((entries) => {
    if (fit(Math.round(entries[0].contentRect.width))) requestAnimationFrame(redraw);
  }).observe(plot);
  return node;
}

function chart(plot, width, height, title) {
  return d3.select(plot).append('svg').attr('class', 'chart').attr('viewBox', `0 0 ${width} ${height}`)
    .attr('role', 'img').attr('aria-label', title).call((svg) => svg.append('title').text(title));
}

const measure = document.createElement('canvas').getContext('2d');
function textWidth(text, size = 13) {
  measure.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return measure.measureText(text).width;
}
/// Cuts the text to a width.
function fitted(text, width, size = 13) {
  if (textWidth(text, size) <= width) return text;
  let cut = text;
  while (cut.length > 1 && textWidth(cut + '…', size) > width) cut = cut.slice(0, -1);
  return cut + '…';
}

function xAxis(svg, scale, {y, top, ticks, format, label, from, to}) {
  const group = svg.append('g');
  for (const tick of ticks) {
    group.append('line').attr('class', 'gridline').attr('x1', scale(tick)).attr('x2', scale(tick)).attr('y1', top).attr('y2', y);
    group.append('text').attr('class', 'tick').attr('x', scale(tick)).attr('y', y + 16).attr('text-anchor', 'middle').text(format(tick));
  }
  group.append('line').attr('class', 'axisline').attr('x1', from).attr('x2', to).attr('y1', y).attr('y2', y);
  if (label) group.append('text').attr('class', 'soft').attr('x', to).attr('y', y + 34).attr('text-anchor', 'end').text(label);
}

function yAxis(svg, scale, {x, right, ticks, format, label, top}) {
  const group = svg.append('g');
  for (const tick of ticks) {
    group.append('line').attr('class', 'gridline').attr('x1', x).attr('x2', right).attr('y1', scale(tick)).attr('y2', scale(tick));
    group.append('text').attr('class', 'tick').attr('x', x - 8).attr('y', scale(tick)).attr('dy', '0.32em').attr('text-anchor', 'end').text(format(tick));
  }
  if (label) group.append('text').attr('class', 'soft').attr('x', 0).attr('y', top - 12).text(label);
}

/// Returns about `wanted` ticks at 1, 2 and 5 times powers of ten; only powers over decades.
function logTicks([low, high], wanted = 6) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const factor of [1, 2, 5]) all.push(factor * 10 ** power);
  }
  const inside = all.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  if (inside.length < 3) return d3.ticks(low, high, wanted - 1).filter((tick) => tick > 0);
  return inside.length <= wanted + 3 ? inside : inside.filter((tick) => Number.isInteger(Math.round(Math.log10(tick) * 1e6) / 1e6));
}
const plain = (value) => value >= 1000 ? count(value) : String(Number(value.toPrecision(3)));

const tip = {
  show(event, title, ...lines) {
    const box = byId('tip');
    box.replaceChildren(el('b', {}, title), ...lines.filter(Boolean).map((line) => el('div', {}, line)));
    box.hidden = false;
    const {width, height} = box.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - width - 8);
    const y = event.clientY + height + 24 > innerHeight ? event.clientY - height - 12 : event.clientY + 14;
    box.style.left = Math.max(8, x) + 'px';
    box.style.top = Math.max(8, y) + 'px';
  },
  hide() { byId('tip').hidden = true; },
};
const hover = (selection, lines) => selection
  .on('pointermove', (event, d) => tip.show(event, ...lines(d))).on('pointerleave', tip.hide);

/// Shows the point nearest to the pointer. points: [{x, y, ...}] in pixels.
function hoverNearest(svg, points, width, height, lines) {
  if (!points.length) return;
  const delaunay = d3.Delaunay.from(points, (p) => p.x, (p) => p.y);
  const mark = svg.append('circle').attr('r', 5.5).attr('fill', 'none').attr('stroke', 'var(--ink)').attr('stroke-width', 1.5).attr('visibility', 'hidden');
  svg.append('rect').attr('width', width).attr('height', height).attr('fill', 'none').attr('pointer-events', 'all')
    .on('pointermove', (event) => {
      const [x, y] = d3.pointer(event);
      const point = points[delaunay.find(x, y)];
      if (Math.hypot(point.x - x, point.y - y) > 40) { mark.attr('visibility', 'hidden'); tip.hide(); return; }
      mark.attr('cx', point.x).attr('cy', point.y).attr('visibility', 'visible');
      tip.show(event, ...lines(point));
    })
    .on('pointerleave', () => { mark.attr('visibility', 'hidden'); tip.hide(); });
}

/// Returns black or white, whichever has more contrast with a colour over the page.
function inkOn(colour, share) {
  const probe = el('span', {});
  document.body.append(probe);
  const rgb = (name) => { probe.style.color = name; return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number); };
  const over = rgb(colour), under = rgb('var(--paper)');
  probe.remove();
  const linear = over.map((value, i) => (share * value + (1 - share) * under[i]) / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.179 ? '#000' : '#fff';
}

function legend(plot, entries) {
  plot.append(el('ul', {class: 'legend'}, ...entries.map(([colour, text, kind]) =>
    el('li', {}, el('i', {class: kind ?? null, style: kind ? `color:${colour}` : `background:${colour}`}), text))));
}

/// Saves the chart as a stand-alone file with variables replaced by current colours.
function saveSvg(plot, name) {
  const probe = el('span', {});
  document.body.append(probe);
  const resolved = (text) => text.replace(/var\(--[\w-]+\)/g, (variable) => {
    probe.style.color = variable;
    return getComputedStyle(probe).color;
  });
  const rules = [...document.styleSheets[0].cssRules].filter((rule) => rule.selectorText?.startsWith('.chart')).map((rule) => rule.cssText);
  [...plot.querySelectorAll('svg')].forEach((svg, i) => {
    const copy = svg.cloneNode(true);
    const [, , width, height] = svg.getAttribute('viewBox').split(' ');
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    copy.setAttribute('font-family', 'system-ui, sans-serif');
    copy.prepend(document.createElementNS('http://www.w3.org/2000/svg', 'style'));
    copy.firstChild.textContent = rules.join('\n');
    const text = resolved(new XMLSerializer().serializeToString(copy));
    saveText(`${name}${i ? '-' + (i + 1) : ''}.svg`, 'image/svg+xml', text);
  });
  probe.remove();
}
