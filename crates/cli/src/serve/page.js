form.addEventListener('submit', async event => {
  event.preventDefault();
  const row = {};
  let empty = 0;
  for (const field of fields) field.removeAttribute('aria-invalid');
  for (const field of fields) {
    const problem = wrong(field);
    if (problem) return complain(problem, field);
    empty += field.value === '';
    row[field.name] = field.value === '' ? null : field.type === 'number' ? Number(field.value) : field.value;
  }
  out.setAttribute('aria-busy', 'true');
  try {
    const reply = await fetch('/predict', {method: 'POST', headers: {'content-type': 'application/json'},
                                           body: JSON.stringify({rows: [row]})});
    const answer = await reply.json();
    if (!reply.ok) {
      const path = /rows\[\d+\](?:\.([\p{Alphabetic}_][\p{Alphabetic}\p{N}_]*)|\[("(?:[^"\\]|\\.)*")\])/u.exec(answer.error);
      const column = path && (path[1] || JSON.parse(path[2]));
      return complain(answer.error, path && fields.find(field => field.name === column));
    }
    show(answer, empty);
  } catch (error) {
    complain(`The server does not answer (${error.message}).`);
  } finally {
    out.removeAttribute('aria-busy');
  }
});

form.addEventListener('reset', () => {
  for (const field of fields) field.removeAttribute('aria-invalid');
  out.replaceChildren();
});

// Typical values of the training data: the median, or the most frequent category.
const example = document.getElementById('example');
example.hidden = !fields.some(field => field.dataset.typical !== undefined);
example.addEventListener('click', () => {
  form.reset();
  for (const field of fields) field.value = field.dataset.typical ?? '';
});
