// The page of training runs and tournaments: curves, latest games, ratings and cross tables.
import { html, useEffect, useState } from "./ui.js";
import { get, getInfo } from "./api.js";
import { decimal, t } from "./language.js";
import { LineChart } from "./charts.js";
import { Message, useLoaded } from "./components.js";
import { afterStep, getPosition } from "./positions.js";
import { titleFor } from "./titles.js";
import { ReplayBoard } from "./replay_board.js";
import { capital, count, fromServer, percent, resultText } from "./format.js";

/**
 * @typedef {{name: string, problem: string|null, game: string, title?: string, search: string, minutes: number, games: number, evaluations: number,
 *   states: number, loss: number|null, evaluations_per_second: number|null, scores: Record<string, number>}} Run
 */
/** @typedef {{group: string, name: string, label: string, percent: boolean, x: number[], y: number[]}} Curve */
/** @typedef {{game: string, players: [string, string], start: string, steps: string[], result: number|null, number?: number}} Played */
/** @typedef {Run & {curves: Curve[], records: Played[]}} WholeRun */
/** @typedef {{name: string, problem: string|null, game: string, title?: string, players: string[], matches: number, finished: boolean}} Tournament */
/**
 * @typedef {Tournament & {cross: (number|null)[][],
 *   ratings: {player: string, elo: number, interval: [number, number], points: number, games: number}[]}} WholeTournament
 */

const EVERY = 5000; // milliseconds between two requests

/** Poll a path of the server. @param {string} path */
function useLive(path) {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTick((n) => n + 1), EVERY);
    return () => clearInterval(timer);
  }, []);
  return useLoaded(() => get(path), [path, tick]);
}

/** @param {{query: URLSearchParams}} props */
export function Watch({ query }) {
  const runs = useLive("/api/runs");
  const tournaments = useLive("/api/tournaments");
  const { value: info } = useLoaded(getInfo, []);
  const allRuns = /** @type {Run[]} */ (runs.value ?? []);
  const allTournaments = /** @type {Tournament[]} */ (tournaments.value ?? []);
  const tournament = query.get("tournament") ?? (query.has("run") || allRuns.length ? null : first(allTournaments));
  const run = tournament ? null : query.get("run") ?? first(allRuns);
  const nothing = runs.value && tournaments.value && !allRuns.length && !allTournaments.length;
  return html`<div class="page watch">
    <h1 class="hidden">${t("Watch")}</h1>
    <${Message} text=${(runs.error ?? tournaments.error)?.message} />
    ${nothing && html`<div class="card empty"><p>${t("No training runs or tournaments yet.")}</p>
      <p class="soft">${t("Start one:")} <code>dicent train runs/first --game ${info?.default_game ?? "GAME"} --minutes 5</code></p></div>`}
    ${!nothing && html`<nav class="watch-list" aria-label=${t("Runs and tournaments")}>
      ${allRuns.length > 0 && html`<h2>${t("Runs")}</h2>`}
      ${allRuns.map((one) => html`<${Entry} key=${one.name} name=${one.name} current=${run === one.name} kind="run" details=${one.problem ? t("damaged") : `${titleFor(one)} · ${duration(one.minutes)}`} />`)}
      ${allTournaments.length > 0 && html`<h2>${t("Tournaments")}</h2>`}
      ${allTournaments.map((one) => html`<${Entry} key=${one.name} name=${one.name} current=${tournament === one.name} kind="tournament"
        details=${one.problem ? t("damaged") : tournamentDetails(one)} />`)}
    </nav>`}
    ${run && html`<${RunView} key=${run} name=${run} />`}
    ${tournament && html`<${TournamentView} key=${tournament} name=${tournament} />`}
  </div>`;
}

/** Return the first that can be read. @param {{name: string, problem: string|null}[]} all */
const first = (all) => (all.find((one) => !one.problem) ?? all[0])?.name ?? null;

/** @param {{name: string, current: boolean, kind: string, details: string}} props */
const Entry = ({ name, current, kind, details }) => html`<a class="watch-entry" href=${`#/watch?${kind}=${encodeURIComponent(name)}`} aria-current=${current ? "true" : undefined}>
  <strong>${name}</strong><span class="soft">${details}</span></a>`;

/** @param {Tournament} one */
function tournamentDetails(one) {
  const values = { title: titleFor(one), n: one.players.length };
  return one.finished ? t("{title} · {n} players", values) : t("{title} · {n} players · in progress", values);
}

/** @param {number} minutes */
const duration = (minutes) => {
  if (minutes < 2) return t("{n} s", { n: Math.round(60 * minutes) });
  return minutes < 90 ? t("{n} min", { n: Math.round(minutes) }) : t("{n} h", { n: decimal(minutes / 60, 1) });
};

/** @param {{name: string}} props */
function RunView({ name }) {
  const { value, error } = useLive(`/api/runs/${encodeURIComponent(name)}`);
  const run = /** @type {WholeRun|null} */ (value);
  const [shown, setShown] = useState(/** @type {Played|null} */ (null));
  if (!run) return html`<div><${Message} text=${error?.message} /></div>`;
  const groups = [...new Set(run.curves.map((curve) => curve.group))]
    .map((group) => run.curves.filter((curve) => curve.group === group && curve.x.length));
  /** @type {[string, string][]} */
  const figures = [
    [t("Training time"), duration(run.minutes)], [t("Games"), count(run.games)], [t("Evaluations"), count(run.evaluations)],
    [t("Evaluations/s"), run.evaluations_per_second === null ? "–" : count(run.evaluations_per_second)],
  ];
  return html`<div class="watch-main">
    <div class="title-line"><p class="status">${run.name}</p><p class="soft">${titleFor(run)}${run.search ? ` · ${run.search}` : ""}</p></div>
    <dl class="run-figures">${figures.map(([term, text]) => html`<div key=${term}><dt>${term}</dt><dd>${text}</dd></div>`)}</dl>
    <div class="plots">${groups.filter((group) => group.length).map((group) => html`<section class="card" key=${group[0].group}>
      <h2>${TITLES[group[0].group] ?? capital(fromServer(group[0].label))}</h2>
      <${LineChart} curves=${group} xLabel=${t("minutes")} label=${fromServer(group[0].label)} percent=${group[0].percent} /></section>`)}</div>
    ${run.records.length > 0 && html`<section class="card latest" aria-label=${t("Latest games")}><h2>${t("Latest games")}</h2>
      <div class="latest-row">
        <ul class="latest-list" tabindex="0" aria-label=${t("Latest games")}>${run.records.map((game, i) => html`<li key=${game.number ?? i}>
          <button type="button" class="move" aria-current=${(shown ?? run.records[0]).start + (shown ?? run.records[0]).steps === game.start + game.steps ? "true" : undefined}
            onClick=${() => setShown(game)}><span>${resultText(game.result)}</span><span class="soft">${t("{n} steps", { n: game.steps.length })}</span></button></li>`)}</ul>
        <${Replay} played=${shown ?? run.records[0]} />
      </div></section>`}
  </div>`;
}

/** @type {Record<string, string>} */
const TITLES = { scores: t("Score against fixed players"), exact: t("Accuracy in solved positions"), loss: t("Training loss"), evaluations_per_second: t("Evaluations per second") };

/** Show a recorded game on the board. @param {{played: Played}} props */
function Replay({ played }) {
  const key = played.start + played.steps.join();
  const { value } = useLoaded(async () => ({ key, game: await walk(played) }), [key]);
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [key]);
  if (!value) return html`<div class="board-side small"></div>`;
  return html`<${ReplayBoard} key=${value.key} game=${value.game} review=${null} at=${Math.min(at, value.game.steps.length)} onGo=${setAt} small=${true} />`;
}

/** Load the positions of a record in order. @param {Played} played */
async function walk(played) {
  const history = [];
  let here = await getPosition(played.game, played.start);
  for (const step of played.steps) {
    const next = await afterStep(played.game, here.position, step);
    history.push({ step, player: here.to_play, position: next.position, dice: next.view?.dice ?? [] });
    here = next;
  }
  const players = { MAX: played.players[0], MIN: played.players[1] };
  return { ...played, players, history };
}

/** Let a line end between the parts of a player's text. @param {string} player */
const breakable = (player) => player.replace(/[:,=]/g, "$&\u200b");

/** @param {number} n */
const whole = (n) => decimal(Math.round(n), 0);

/** @param {{name: string}} props */
function TournamentView({ name }) {
  const { value, error } = useLive(`/api/tournaments/${encodeURIComponent(name)}`);
  const tournament = /** @type {WholeTournament|null} */ (value);
  if (!tournament) return html`<div><${Message} text=${error?.message} /></div>`;
  const summary = { title: titleFor(tournament), n: tournament.matches };
  return html`<div class="watch-main">
    <div class="title-line"><p class="status">${tournament.name}</p>
      <p class="soft">${tournament.finished ? t("{title} · {n} matches", summary) : t("{title} · {n} matches so far", summary)}</p></div>
    <section class="card"><h2>${t("Ratings")}</h2><div class="table-scroll" tabindex="0" role="region" aria-label=${t("Ratings")}><table class="ranks">
      <thead><tr><th scope="col" class="number">#</th><th scope="col">${t("Player")}</th><th scope="col" class="number">Elo</th><th scope="col" class="number">${t("95% interval")}</th><th scope="col" class="number">${t("Points")}</th></tr></thead>
      <tbody>${tournament.ratings.map((row, i) => html`<tr key=${row.player}><td class="number soft">${i + 1}</td><th scope="row">${breakable(row.player)}</th>
        <td class="number">${whole(row.elo)}</td><td class="number soft">${t("{low} to {high}", { low: whole(row.interval[0]), high: whole(row.interval[1]) })}</td>
        <td class="number">${row.points} / ${row.games}</td></tr>`)}</tbody>
    </table></div></section>
    <section class="card"><h2>${t("Cross table")}</h2><p class="help">${t("Score of the row player against the column player.")}</p>
      <div class="table-scroll" tabindex="0" role="region" aria-label=${t("Cross table")}><table class="cross">
      <thead><tr><th scope="col">${t("Player")}</th>${tournament.ratings.map((row, i) => html`<th scope="col" class="number" key=${row.player} title=${row.player}>${i + 1}</th>`)}</tr></thead>
      <tbody>${tournament.cross.map((line, i) => html`<tr key=${i}><th scope="row"><span class="soft">${i + 1}</span> ${breakable(tournament.ratings[i]?.player ?? "")}</th>
        ${line.map((share, j) => html`<td key=${j} class="number share ${share === null ? "none" : share >= 0.5 ? "up" : "down"}"
          style=${share === null ? {} : { "--strength": `${Math.round(Math.abs(share - 0.5) * 90)}%` }}>${i === j ? "" : share === null ? "–" : percent(share)}</td>`)}</tr>`)}</tbody>
    </table></div></section>
  </div>`;
}
