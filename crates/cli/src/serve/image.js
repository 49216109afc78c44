form.addEventListener('submit', async event => {
  event.preventDefault();
  const file = form.querySelector('input').files[0];
  if (!file) return complain('Choose a PNG or JPEG file.');
  try {
    const reply = await fetch('/predict', {method: 'POST', headers: {'content-type': file.type || 'image/png'}, body: file});
    const answer = await reply.json();
    if (reply.ok) show(answer, 0); else complain(answer.error);
  } catch (error) {
    complain(`The server does not answer: ${error.message}`);
  }
});
