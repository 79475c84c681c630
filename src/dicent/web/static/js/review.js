// The page of a recorded game: its steps and, once reviewed, luck, losses and better moves.
import { html, useEffect, useState } from "./ui.js";
import { get, post } from "./api.js";
import { WinCurve } from "./charts.js";
import { Roll } from "./die.js";
import { t } from "./language.js";
import { RECORD, exportGame } from "./export.js";
import { grade, inPoints, MoveList, lossOfChances, WORTH_SHOWING } from "./moves.js";
import { nameOf } from "./names.js";
import { NotHere } from "./access.js";
import { Dot, Message, useLoaded } from "./components.js";
import { titleFor } from "./titles.js";
import { ReplayBoard } from "./replay_board.js";
import { amount, COLOUR, fromServer, resultText, when } from "./format.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").Review} Review */
/** @typedef {import("./types.js").Side} Side */
/** @typedef {{state: string, progress: number, review: Review|null, error: string|null}} Stand */

const POLL = 500;

/** @param {{id: string, query: URLSearchParams}} props */
export function ReviewPage({ id, query }) {
  const path = `/api/games/${encodeURIComponent(id)}`;
  const { value: game, error } = useLoaded(() => /** @type {Promise<Game>} */ (get(path)), [id]);
  const [stand, setStand] = useState(/** @type {Stand|null} */ (null));
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const [at, setAt] = useState(0);
  const finished = game !== null && game.result !== null;

  async function begin() {
    setProblem(null);
    try {
      await post(`${path}/review`);
      setStand({ state: "running", progress: 0, review: null, error: null });
    } catch (/** @type {any} */ e) {
      setProblem(e.message);
    }
  }
  useEffect(() => {
    setStand(null);
    setAt(0);
    get(`${path}/review`).then((found) => {
      setStand(found);
      if (found.state === "none" && query.has("go")) begin();
    }, (e) => setProblem(e.message));
  }, [id]);
  useEffect(() => {
    if (stand?.state !== "running") return;
    const timer = setTimeout(() => get(`${path}/review`).then(setStand, (e) => setProblem(e.message)), POLL);
    return () => clearTimeout(timer);
  }, [stand]);
  if (!game) return error ? html`<${NotHere} text=${error.message} />` : null;
  const review = stand?.review ?? null;
  const points = inPoints(review);
  const start = points ? review?.start_equity : review?.start_win?.MAX;
  return html`<div class="page two review">
    <${ReplayBoard} game=${game} review=${review} at=${at} onGo=${setAt} />
    <div class="side">
      <div class="title-line"><h1>${resultText(game.result, game.ended, game.position.score)}</h1>
        <p class="soft">${titleFor(game)} · ${t("{first} against {second}", { first: nameOf(game, "MAX"), second: nameOf(game, "MIN") })} · ${when(game.created)}</p></div>
      <${Message} text=${problem ?? (stand?.state === "failed" ? stand.error : null)} />
      ${review
        ? html`<${Verdict} review=${review} path=${path} />`
        : html`<section class="card" aria-label=${t("Review")}>
            ${stand?.state === "running"
              ? html`<p>${t("Analysing every roll and move…")}</p>
                  <progress max="1" value=${stand.progress} aria-label=${t("Progress of the review")}></progress>`
              : html`<p class="soft">${finished ? t("A review shows the luck of each roll and the cost of each move.") : t("This game is not finished. A review covers the moves so far.")}</p>
                  <div class="buttons"><button type="button" class="primary" disabled=${stand === null || !game.steps.length} onClick=${begin}>${t("Review this game")}</button></div>`}
          </section>`}
      ${review && html`<section class="card" aria-label=${points ? t("Points") : t("Winning chances")}>
        <h2>${points ? t("{who}'s points", { who: COLOUR.MAX }) : t("{who}'s winning chances", { who: COLOUR.MAX })}</h2>
        <${WinCurve} moments=${review.moments} start=${start ?? null} at=${at} onGo=${setAt} inPoints=${points} mistakes=${review.mistakes.filter((i) => grade(review, i) !== "inaccuracy")} />
      </section>`}
      ${review && html`<${Mistakes} game=${game} review=${review} at=${at} onGo=${setAt} />`}
      <section class="card moves-card" aria-label=${t("Moves")}><h2>${t("Moves")}</h2>
        <${MoveList} game=${game} at=${at} onGo=${setAt} review=${review} /></section>
      <div class="buttons">
        <button type="button" class="quiet" onClick=${() => exportGame(id, RECORD).catch((e) => setProblem(e.message))}>${t("Export")}</button>
        ${!finished && html`<a class="button quiet" href=${`#/play/${id}`}>${t("Continue")}</a>`}
      </div>
    </div>
  </div>`;
}

/** @param {{review: Review, path: string}} props */
const Verdict = ({ review, path }) => html`<section class="card verdict" aria-label=${t("Summary")}>
  <p class="verdict-text">${fromServer(review.verdict)}</p>
  <table class="sums">
    <thead><tr><th scope="col"><span class="hidden">${t("Side")}</span></th><th scope="col" class="number">${t("Luck")}</th><th scope="col" class="number">${t("Lost by mistakes")}</th></tr></thead>
    <tbody>${/** @type {Side[]} */ (["MAX", "MIN"]).map((side) => html`<tr key=${side}>
      <th scope="row"><${Dot} side=${side} />${COLOUR[side]}</th>
      <td class="number">${amount(review.luck[side], inPoints(review))}</td><td class="number">${amount(-review.loss[side], inPoints(review))}</td></tr>`)}</tbody>
  </table>
  <p class="soft">${inPoints(review) ? t("Luck and losses are in points of the game.") : t("Luck and losses are in percentage points of winning chances.")}</p>
  ${Object.entries(review.error_rate ?? {}).map(([side, rate]) => html`<p key=${side} class="soft"><${Dot} side=${side} />${t("{rate} millipoints per decision, PR {pr}", { rate: rate.millipoints.toFixed(1), pr: rate.pr.toFixed(1) })}</p>`)}
  <div class="buttons between"><span class="soft">${t("Analysed by {judge}", { judge: fromServer(review.judge) })}</span>
    <a class="button quiet" href=${`${path}/review.html`} target="_blank" rel="noopener">${t("Printable report")}</a></div>
</section>`;

const MOST = 8;

/** @param {{game: Game, review: Review, at: number, onGo: (at: number) => void}} props */
function Mistakes({ game, review, at, onGo }) {
  const [all, setAll] = useState(false);
  const found = review.mistakes.filter((i) => lossOfChances(review, i) >= WORTH_SHOWING);
  const shown = all ? found : found.slice(0, MOST);
  return html`<section class="card" aria-label=${t("Mistakes")}><h2>${t("Mistakes, largest first")}</h2>
    ${found.length === 0 && html`<p class="soft">${inPoints(review) ? t("No move lost a hundredth of a point or more.") : t("No move lost half a percent or more.")}</p>`}
    <ol class="mistakes">
      ${shown.map((i) => {
        const moment = review.moments[i];
        const before = game.history[i - 1];
        const roll = before?.player === "CHANCE" ? { text: before.step, dice: before.dice } : null;
        return html`<li key=${i}><button type="button" class="move" aria-current=${at === i ? "step" : undefined} onClick=${() => onGo(i)}>
          <span class="loss ${grade(review, i)} ${inPoints(review) ? "in-points" : ""}">${amount(-(moment.loss ?? 0), inPoints(review))}</span><${Dot} side=${moment.player} /><span class="hidden">${COLOUR[moment.player]}</span>
          ${roll ? html`<${Roll} roll=${roll} size="tiny" />` : html`<span class="face tiny none"></span>`}
          <span class="mistake-moves"><span class="move-text">${fromServer(moment.step)}</span><span><span class="soft">${t("better")}</span> <span class="move-text">${fromServer(moment.best)}</span></span><span class="soft">${fromServer(grade(review, i))}</span></span>
          ${moment.proved && html`<abbr class="exact" title=${t("Proved: the exact value")}>${t("exact")}</abbr>`}
        </button></li>`;
      })}
    </ol>
    ${found.length > shown.length && html`<button type="button" class="link" onClick=${() => setAll(true)}>${t("Show all {n}", { n: found.length })}</button>`}
  </section>`;
}
