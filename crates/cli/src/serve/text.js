form.addEventListener('submit', async event => {
  event.preventDefault();
  const body = {prompt: form.querySelector('textarea').value, length: Number(form.querySelector('input').value)};
  try {
    const reply = await fetch('/generate', {
      method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body),
    });
    const answer = await reply.json();
    if (!reply.ok) return complain(answer.error);
    out.replaceChildren(element('pre', answer.prompt + answer.continuation));
  } catch (error) {
    complain(`The server does not answer: ${error.message}`);
  }
});
