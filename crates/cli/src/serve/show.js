'use strict';
const form = document.querySelector('form'), out = document.querySelector('output');
const fields = [...form.elements].filter(field => field.name);

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function complain(text, field) {
  out.replaceChildren(element('p', text, 'error'));
  if (field) { field.setAttribute('aria-invalid', 'true'); field.focus(); }
}

function wrong(field) {
  return field.validity.valid ? null : `${field.name}: give a number, or leave the field empty.`;
}

function short(value) {
  return typeof value === 'number' ? String(Number(value.toPrecision(6))) : value === null ? '(missing)' : value;
}

function show(answer, empty) {
  const parts = [], table = element('table');
  for (const [name, value] of Object.entries(answer.predictions[0])) {
    if (/^P\(.*\)$/s.test(name) && typeof value === 'number') {
      const line = table.insertRow(), head = element('th', name), bar = element('div');
      head.scope = 'row';
      line.append(head);
      bar.style.width = `${100 * value}%`;
      const cell = line.insertCell();
      cell.className = 'bar';
      cell.append(bar);
      const number = line.insertCell();
      number.textContent = `${(100 * value).toFixed(1)} %`;
      number.dataset.value = value;
    } else {
      const line = element('p', `${name}: ${short(value)}`, name.startsWith('predicted ') || name === 'cluster' ? 'predicted' : '');
      line.dataset.value = value;
      parts.push(line);
    }
  }
  if (table.rows.length) parts.push(table);
  if (empty) parts.push(element('p', `${empty} of ${fields.length} fields were empty and count as missing.`, 'note'));
  out.replaceChildren(...parts);
}

