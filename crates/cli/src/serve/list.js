// The fields of a question; those of an analogy are sent together, a word alone asks for its neighbors.
form.addEventListener('submit', async event => {
  event.preventDefault();
  const given = Object.fromEntries(fields.map(field => [field.name, field.value.trim()]));
  const k = Number(given.k);
  let path = '/recommend', body = {user: given.user, k};
  if ('word' in given) {
    const analogy = given.b !== '' || given.c !== '';
    path = analogy ? '/analogy' : '/nearest';
    body = analogy ? {a: given.word, b: given.b, c: given.c, k} : {word: given.word, k};
  }
  try {
    const reply = await fetch(path, {
      method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body),
    });
    const answer = await reply.json();
    if (!reply.ok) return complain(answer.error);
    const table = element('table');
    for (const one of answer.items ?? answer.nearest ?? answer.answers) {
      const line = table.insertRow(), head = element('th', one.item ?? one.word);
      head.scope = 'row';
      line.append(head);
      line.insertCell().textContent = short(one.score ?? one.similarity);
    }
    out.replaceChildren(table);
  } catch (error) {
    complain(`The server does not answer: ${error.message}`);
  }
});
