// The page to try requests: it sends what is written there and shows what comes back.
{
  const form = document.getElementById("try");
  const answer = document.getElementById("answer");
  const samples = JSON.parse(document.getElementById("samples").textContent);
  const type = form.elements.type;
  const fill = () => { form.elements.body.value = samples[type.value] ?? ""; };
  type.addEventListener("change", fill);
  fill();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [method, path] = form.elements.path.value.split(" ");
    const headers = {};
    if (form.elements.token.value) headers.Authorization = `Bearer ${form.elements.token.value}`;
    if (method === "POST") headers["Content-Type"] = type.value;
    const body = method === "POST" ? form.elements.body.value : undefined;
    try {
      const reply = await fetch(`.${path}`, { method, headers, body });
      const text = await reply.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 1); } catch { /* it is no JSON */ }
      answer.textContent = `${reply.status} ${reply.statusText}\n${shown}`;
    } catch (error) {
      answer.textContent = `no answer: ${error.message}`;
    }
  });
}
