// Runs before the first paint, so that a chosen light or dark theme never flashes the other one.
{
  let theme = null;
  try {
    theme = localStorage.getItem("dicent.theme");
  } catch {
    // a browser that keeps nothing still has its own preference
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
