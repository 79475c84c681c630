// Show the offline page while the server does not answer. Every request goes to the server first, and nothing
// else is cached: no answer of the interface, and no page that a newer version could contradict.
const FILES = ["/static/offline.html", "/static/js/offline.js", "/static/css/offline.css", "/static/icon.svg"];
const CACHE = "dicent-offline";

addEventListener("install", (/** @type {any} */ event) => {
  const fresh = FILES.map((file) => new Request(file, { cache: "reload" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(fresh)));
});

addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const path = new URL(request.url).pathname;
  if (request.mode === "navigate" && path === "/") event.respondWith(fetch(request).catch(() => caches.match(FILES[0])));
  else if (FILES.includes(path)) event.respondWith(fetch(request).catch(() => caches.match(path)));
});
