// Start the application. Its modules hold translated texts, so they are loaded after the language.
import { loadLanguage } from "./language.js";

await loadLanguage();
await import("./app.js");

// Browsers offer service workers to secure pages only; others do without the offline page.
navigator.serviceWorker?.register("/service-worker.js").catch(() => {});
