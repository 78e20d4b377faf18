// The live page: the server sends parts as HTML, each of which replaces what it sent before. They
// come by fetch, which unlike EventSource can send a token.
{
  const key = "dwindle-token";
  const status = document.querySelector('[data-live="state"]');
  const form = document.getElementById("token");

  // What a reader has opened, typed or focused stays as it is when a part is replaced.
  const replace = (place, html) => {
    if (place.dataset.html === html) return;
    const held = place.contains(document.activeElement) || place.querySelector(".plot.on");
    if (held && place.dataset.live !== "tiles") return;
    const open = [...place.querySelectorAll("details")].map((each) => each.open);
    const search = place.querySelector("[data-search]")?.value;
    place.dataset.html = html;
    place.innerHTML = html;
    place.querySelectorAll("details").forEach((each, k) => { each.open = open[k] ?? false; });
    if (search) {
      const field = place.querySelector("[data-search]");
      field.value = search;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  const show = (parts) => {
    for (const place of document.querySelectorAll("[data-live]")) {
      const html = parts[place.dataset.live];
      if (html !== undefined) replace(place, html);
    }
    document.documentElement.dataset.updates = 1 + Number(document.documentElement.dataset.updates ?? 0);
  };

  const listen = async () => {
    const token = sessionStorage.getItem(key);
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const answer = await fetch("events", { headers });
    if (answer.status === 401) {
      form.hidden = false;
      status.textContent = "a token is needed";
      return false;
    }
    form.hidden = true;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return true;
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        const data = event.split("\n").find((line) => line.startsWith("data: "));
        if (data) show(JSON.parse(data.slice(6)).parts);
      }
    }
  };
  const watch = async () => {
    let again = true;
    try {
      again = await listen();
    } catch {
      // The connection is gone: it is told below, and tried again.
    }
    if (!again) return;
    status.textContent = "the server does not answer: trying again";
    setTimeout(watch, 2000);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(key, new FormData(form).get("token"));
    watch();
  });
  watch();
}
