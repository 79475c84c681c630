// Open the page again as soon as the server answers.
const PAUSE = 2000; // milliseconds
setInterval(() => fetch("/api/info").then(() => location.reload(), () => {}), PAUSE);
