// The application shell: page routing, the theme, the language, and a notice while the server does not answer.
import { html, render, useEffect, useState } from "./ui.js";
import { isOpen, OwnGame, useAccess } from "./access.js";
import { Analyse } from "./analyse.js";
import { getInfo, setAway, watchServer } from "./api.js";
import { chooseLanguage, language, t } from "./language.js";
import { Library } from "./library.js";
import { readHash } from "./links.js";
import { NewGame } from "./new_game.js";
import { Icon, useLoaded } from "./components.js";
import { Play } from "./play.js";
import { ReviewPage } from "./review.js";
import { Rules } from "./rules.js";
import { Watch } from "./watch.js";

/** @type {[string, string][]} */
const PAGES = [["play", t("Play")], ["analyse", t("Analyse")], ["library", t("Library")], ["watch", t("Watch")]];

function App() {
  const [at, setAt] = useState(() => readHash(location.hash));
  const [away, setAwayHere] = useState(false);
  useEffect(() => {
    const onChange = () => setAt(readHash(location.hash));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  useEffect(() => watchServer(setAwayHere), []);
  useEffect(() => {
    if (!away) return;
    const timer = setInterval(() => fetch("/api/info").then(() => setAway(false), () => {}), 2000);
    return () => clearInterval(timer);
  }, [away]);
  const title = PAGES.find(([page]) => page === at.page)?.[1] ?? { review: t("Review"), rules: t("Rules") }[at.page] ?? t("Play");
  useEffect(() => {
    document.title = `${title} · Dicent`;
    scrollTo(0, 0);
  }, [at.page, at.id]);
  const may = useAccess();
  const pages = PAGES.filter(([page]) => page === "play" || may(page)); // a guest plays, but does not start games
  const current = at.page === "review" ? "library" : at.page;
  return html`
    <a class="skip" href="#main" onClick=${(/** @type {Event} */ e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>${t("Skip to content")}</a>
    <header class="top">
      <a class="brand" href="#/play" aria-label="Dicent"><img src="/static/icon.svg" alt="" width="26" height="26" /><span>Dicent</span></a>
      <nav aria-label=${t("Pages")}>${pages.map(([page, text]) => html`<a key=${page} href=${`#/${page}`} aria-current=${page === current ? "page" : undefined}>${text}</a>`)}</nav>
      <${ThemeButton} />
    </header>
    <div class="away" role="status">${away && html`<span>${t("Connection lost. Reconnecting. Your game is saved.")}</span>`}</div>
    <main id="main" tabindex="-1"><${Page} at=${at} /></main>
    <${LanguageChoice} />
    <div id="announcer" class="hidden" aria-live="polite"></div>`;
}

/** @param {{at: ReturnType<typeof readHash>}} props */
function Page({ at }) {
  const { value: info } = useLoaded(getInfo, []);
  if (!isOpen(info, at)) return html`<${OwnGame} />`;
  switch (at.page) {
    case "analyse":
      return html`<${Analyse} query=${at.query} />`;
    case "library":
      return html`<${Library} />`;
    case "rules":
      return html`<${Rules} query=${at.query} />`;
    case "watch":
      return html`<${Watch} query=${at.query} />`;
    case "review":
      return html`<${ReviewPage} key=${at.id} id=${at.id} query=${at.query} />`;
    default:
      return at.id ? html`<${Play} key=${at.id} id=${at.id} />` : html`<${NewGame} />`;
  }
}

function ThemeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const shown = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const [theme, setTheme] = useState(shown);
  useEffect(() => {
    const onChange = () => setTheme(shown());
    dark.addEventListener("change", onChange);
    return () => dark.removeEventListener("change", onChange);
  }, []);
  function turn() {
    const next = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("dicent.theme", next);
    } catch {
      // without storage the theme lasts until the page is closed
    }
    setTheme(next);
  }
  const label = theme === "dark" ? t("Light theme") : t("Dark theme");
  return html`<button type="button" class="plain square" aria-label=${label} title=${label} onClick=${turn}><${Icon} name=${theme === "dark" ? "sun" : "moon"} /></button>`;
}

/** Choose the language of the pages. */
function LanguageChoice() {
  const { value: info } = useLoaded(getInfo, []);
  const languages = info?.languages ?? [];
  if (languages.length < 2) return null;
  return html`<footer class="bottom"><label for="language">${t("Language")}</label>
    <select id="language" value=${language()} onChange=${(/** @type {any} */ e) => chooseLanguage(e.currentTarget.value)}>
      ${languages.map(({ code, name }) => html`<option key=${code} value=${code} lang=${code}>${name}</option>`)}
    </select></footer>`;
}

render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
