// Speak the language of the pages, and open the page again as soon as the server answers.
const PAUSE = 2000; // milliseconds
try {
  const { language, title, text } = JSON.parse(localStorage.getItem("dicent.offline") ?? "{}");
  addEventListener("DOMContentLoaded", () => {
    if (!language) return;
    document.documentElement.lang = language;
    for (const [selector, words] of [["h1", title], ["p", text]]) {
      const place = document.querySelector(selector);
      if (place) place.textContent = words;
    }
  });
} catch {
  // without storage the page stays English
}
setInterval(() => fetch("/api/info").then(() => location.reload(), () => {}), PAUSE);
