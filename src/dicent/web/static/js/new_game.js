// The form for a new game, with a preview of its board.
import { html, useEffect, useMemo, useState } from "./ui.js";
import { getInfo, post } from "./api.js";
import { Board } from "./board.js";
import { GuideSwitch } from "./guide.js";
import { rulesLink } from "./links.js";
import { t } from "./language.js";
import { NameFields, namesFor } from "./names.js";
import { savePreference, readPreference } from "./preferences.js";
import { ClockChoice, CLOCKS, keepLink, LINK } from "./seats.js";
import { Choice, Dot, Message, useLoaded } from "./components.js";
import { getStart } from "./positions.js";
import { titleOf, valueText } from "./titles.js";
import { capital, COLOUR, fromServer } from "./format.js";

/** @typedef {import("./types.js").Option} Option */
/** @typedef {import("./types.js").GameInfo} GameInfo */

/** Return the text that names a game with the chosen options. @param {GameInfo} game @param {Record<string, string>} chosen */
export function gameText(game, chosen) {
  const changed = game.options
    .filter((option) => chosen[option.name] && chosen[option.name] !== String(option.default))
    .map((option) => `${option.name}=${chosen[option.name]}`);
  return changed.length ? `${game.name}:${changed.join(",")}` : game.name;
}

/**
 * Return the values of an option to choose from, and whether any other value is possible.
 * @param {Option} option @returns {{values: string[], open: boolean}}
 */
export function choicesOf(option) {
  if (option.choices) return { values: option.choices.map(String), open: false };
  if (typeof option.default === "boolean") return { values: ["false", "true"], open: false };
  return { values: Object.keys(option.labels), open: true };
}

export function NewGame() {
  const { value: info, error } = useLoaded(getInfo, []);
  const kept = useMemo(() => readPreference("new-game", {}), []);
  const [name, setName] = useState(kept.name ?? "");
  const [chosen, setChosen] = useState(/** @type {Record<string, string>} */ (kept.chosen ?? {}));
  const [sides, setSides] = useState(kept.sides ?? "MAX");
  const [strength, setStrength] = useState(kept.strength ?? "");
  const [second, setSecond] = useState(kept.second ?? "");
  const [clock, setClock] = useState(CLOCKS.includes(kept.clock) ? kept.clock : "");
  const [dice, setDice] = useState(kept.dice ?? "rolled");
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const [busy, setBusy] = useState(false);
  useEffect(() => savePreference("new-game", { name, chosen, sides, strength, second, clock, dice }), [name, chosen, sides, strength, second, clock, dice]);
  const game = info?.games.find((one) => one.name === name) ?? info?.games.find((one) => one.name === info.default_game) ?? info?.games[0];
  const text = game ? gameText(game, chosen) : null;
  if (!info || !game) return html`<div class="page narrow"><${Message} text=${error?.message} /></div>`;

  const level = info.strengths.some((one) => one.name === strength) ? strength : middle(info.strengths);
  const rival = info.strengths.some((one) => one.name === second) ? second : level;
  const linked = strength === LINK && (sides === "MAX" || sides === "MIN");
  const opponent = linked ? LINK : level;
  /** @type {Record<string, {MAX: string, MIN: string}>} */
  const players = {
    MAX: { MAX: "human", MIN: opponent },
    MIN: { MAX: opponent, MIN: "human" },
    both: { MAX: "human", MIN: "human" },
    none: { MAX: level, MIN: rival },
  };

  /** @param {Event} event */
  async function start(event) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const given = {
        game: text, players: players[sides], names: namesFor(players[sides]),
        dice: game?.chance && !linked ? dice : "rolled", clock: linked && clock ? clock : null,
      };
      const made = await post("/api/games", given, { patient: false });
      if (made.link) keepLink(made.id, made.link);
      location.hash = `#/play/${made.id}`;
    } catch (/** @type {any} */ e) {
      setProblem(e.message);
      setBusy(false);
    }
  }

  /** @param {string} to */
  const chooseGame = (to) => {
    setName(to);
    setChosen({});
  };
  const strengths = (/** @type {string} */ id, /** @type {string} */ label, /** @type {string} */ value, /** @type {(v: string) => void} */ set, /** @type {any} */ more = null) =>
    html`<label class="field-label wide" for=${id}>${label}
      <select id=${id} value=${value} onChange=${(/** @type {any} */ e) => set(e.currentTarget.value)}>
        ${info.strengths.map((one) => html`<option value=${one.name}>${fromServer(one.title) || capital(one.name)}</option>`)}
        ${more}
      </select>
    </label>`;

  return html`<div class="page two new-game">
    <form class="side form" onSubmit=${start}>
      <h1>${t("New game")}</h1>
      <label class="field-label" for="game">${t("Game")}
        <select id="game" value=${game.name} onChange=${(/** @type {any} */ e) => chooseGame(e.currentTarget.value)}>
          ${info.games.map((one) => html`<option value=${one.name}>${titleOf(one, info.games)}</option>`)}
        </select>
      </label>
      ${text && html`<p class="rules-link"><a href=${rulesLink(text)}>${t("How to play")}</a></p>`}
      <${GuideSwitch} key=${game.name} game=${game.name} />
      <${Choice} legend=${t("You play")} name="sides" value=${sides} onChange=${setSides} choices=${[
        ["MAX", html`<${Dot} side="MAX" />${t("{who}, first", { who: COLOUR.MAX })}`],
        ["MIN", html`<${Dot} side="MIN" />${COLOUR.MIN}`],
        ["both", t("Both")],
        ["none", t("Neither")],
      ]} />
      <div class="fields">
        ${sides !== "both" && strengths("strength", sides === "none" ? t("{who}'s strength", { who: COLOUR.MAX }) : t("Opponent"), sides === "none" ? level : opponent, setStrength,
          sides !== "none" && html`<option value=${LINK}>${t("Another device")}</option>`)}
        ${linked && html`<${ClockChoice} value=${clock} onChange=${setClock} />`}
        <${NameFields} sides=${sides} />
        ${sides === "none" && strengths("second", t("{who}'s strength", { who: COLOUR.MIN }), rival, setSecond)}
      </div>
      ${game.chance && !linked &&
      html`<${Choice} legend=${t("Dice")} name="dice" value=${dice} onChange=${setDice} choices=${[
        ["rolled", t("Computer rolls")],
        ["hand", t("Real dice")],
      ]} />`}
      <${Options} game=${game} chosen=${chosen} onChange=${setChosen} />
      <${Message} text=${problem} />
      <div class="buttons"><button class="primary" disabled=${busy}>${busy ? t("Starting…") : t("Start game")}</button></div>
    </form>
    <${Preview} text=${text} game=${game} />
  </div>`;
}

/** @param {{name: string}[]} strengths */
const middle = (strengths) => strengths[Math.floor(strengths.length / 2)]?.name ?? "";

/** @param {{game: GameInfo, chosen: Record<string, string>, onChange: (chosen: Record<string, string>) => void}} props */
function Options({ game, chosen, onChange }) {
  const options = game.options.filter((option) => !option.hidden);
  if (!options.length) return null;
  return html`<details class="options" open=${Object.keys(chosen).length > 0}>
    <summary>${t("Rules and setup")}</summary>
    <div class="fields">
      ${options.map((option) => html`<${OneOption} key=${game.name + option.name} option=${option}
        value=${chosen[option.name] ?? String(option.default)}
        onChange=${(/** @type {string} */ value) => onChange({ ...chosen, [option.name]: value })} />`)}
    </div>
  </details>`;
}

/** @param {{option: Option, value: string, onChange: (value: string) => void}} props */
function OneOption({ option, value, onChange }) {
  const { values, open } = choicesOf(option);
  const listed = values.includes(value);
  const id = `option-${option.name}`;
  const name = capital(fromServer(option.name));
  return html`<div class="option">
    <label class="field-label" for=${id}>${name}
      ${values.length > 0
        ? html`<select id=${id} value=${listed ? value : "…"} aria-describedby="${id}-help"
            onChange=${(/** @type {any} */ e) => onChange(e.currentTarget.value === "…" ? "" : e.currentTarget.value)}>
            ${values.map((one) => html`<option value=${one}>${capital(valueText(option, one))}</option>`)}
            ${open && html`<option value="…">${t("Other…")}</option>`}
          </select>`
        : html`<input id=${id} value=${value} placeholder=${option.example} aria-describedby="${id}-help" onChange=${(/** @type {any} */ e) => onChange(e.currentTarget.value.trim())} />`}
    </label>
    ${values.length > 0 && !listed &&
    html`<input class="free" aria-label=${t("{name}: another value", { name })} value=${value} placeholder=${option.example}
      onChange=${(/** @type {any} */ e) => onChange(e.currentTarget.value.trim())} />`}
    <p class="help" id="${id}-help">${capital(fromServer(option.help))}.</p>
  </div>`;
}

/** @param {{text: string|null, game: GameInfo}} props */
function Preview({ text, game }) {
  const { value, error } = useLoaded(() => (text ? getStart(text, 1) : Promise.resolve(null)), [text]);
  const fitting = value && !error ? value : null;
  return html`<div class="board-side preview">
    <p class="preview-title">${fromServer(game.title)}</p>
    ${fitting?.view
      ? html`<${Board} view=${fitting.view} label=${t("Start position")} />`
      : html`<div class="no-board">${error ? html`<p>${fromServer(error.message)}</p>` : fitting ? html`<p class="big-text">${fitting.position}</p>` : null}</div>`}
    <p class="help">${describeGame(game)}</p>
  </div>`;
}

/** Return the description without the title in its first line. @param {GameInfo} game */
function describeGame(game) {
  const text = game.description.replace(/\s+/g, " ").trim();
  const colon = text.indexOf(": ");
  return capital(fromServer(colon >= 0 && colon < 60 ? capital(text.slice(colon + 2)) : text));
}
