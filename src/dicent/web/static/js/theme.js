// Apply the chosen theme before the first paint, so that the other theme never flashes.
{
  let theme = null;
  try {
    theme = localStorage.getItem("dicent.theme");
  } catch {
    // storage may be disabled; the browser's preference applies
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
