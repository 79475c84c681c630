// The page of training runs and tournaments: curves, latest games, ratings and cross tables.
import { html, useEffect, useState } from "./ui.js";
import { get } from "./api.js";
import { Lines } from "./charts.js";
import { Message, useLoaded } from "./parts.js";
import { afterStep, getPosition } from "./positions.js";
import { Scene } from "./scene.js";
import { capital, count, percent, resultText } from "./words.js";

/**
 * @typedef {{name: string, problem: string|null, game: string, search: string, minutes: number, games: number, evaluations: number,
 *   states: number, loss: number|null, evaluations_per_second: number|null, scores: Record<string, number>}} Run
 */
/** @typedef {{group: string, name: string, label: string, percent: boolean, x: number[], y: number[]}} Curve */
/** @typedef {{game: string, players: [string, string], start: string, steps: string[], result: number|null, number?: number}} Played */
/** @typedef {Run & {curves: Curve[], records: Played[]}} WholeRun */
/** @typedef {{name: string, problem: string|null, game: string, players: string[], matches: number, finished: boolean}} Tournament */
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
  const allRuns = /** @type {Run[]} */ (runs.value ?? []);
  const allTournaments = /** @type {Tournament[]} */ (tournaments.value ?? []);
  const tournament = query.get("tournament") ?? (query.has("run") || allRuns.length ? null : first(allTournaments));
  const run = tournament ? null : query.get("run") ?? first(allRuns);
  const nothing = runs.value && tournaments.value && !allRuns.length && !allTournaments.length;
  return html`<div class="page watch">
    <h1 class="hidden">Watch</h1>
    <${Message} text=${(runs.error ?? tournaments.error)?.message} />
    ${nothing && html`<div class="card empty"><p>No training runs or tournaments yet.</p>
      <p class="soft">Start one: <code>dicent train runs/first --game ewn --minutes 5</code></p></div>`}
    ${!nothing && html`<nav class="watch-list" aria-label="Runs and tournaments">
      ${allRuns.length > 0 && html`<h2>Runs</h2>`}
      ${allRuns.map((one) => html`<${Entry} key=${one.name} name=${one.name} current=${run === one.name} kind="run" facts=${one.problem ? "damaged" : `${one.game} · ${duration(one.minutes)}`} />`)}
      ${allTournaments.length > 0 && html`<h2>Tournaments</h2>`}
      ${allTournaments.map((one) => html`<${Entry} key=${one.name} name=${one.name} current=${tournament === one.name} kind="tournament"
        facts=${one.problem ? "damaged" : `${one.game} · ${one.players.length} players${one.finished ? "" : " · in progress"}`} />`)}
    </nav>`}
    ${run && html`<${RunView} key=${run} name=${run} />`}
    ${tournament && html`<${TournamentView} key=${tournament} name=${tournament} />`}
  </div>`;
}

/** Return the first that can be read. @param {{name: string, problem: string|null}[]} all */
const first = (all) => (all.find((one) => !one.problem) ?? all[0])?.name ?? null;

/** @param {{name: string, current: boolean, kind: string, facts: string}} props */
const Entry = ({ name, current, kind, facts }) => html`<a class="watch-entry" href=${`#/watch?${kind}=${encodeURIComponent(name)}`} aria-current=${current ? "true" : undefined}>
  <strong>${name}</strong><span class="soft">${facts}</span></a>`;

/** @param {number} minutes */
const duration = (minutes) => (minutes < 2 ? `${Math.round(60 * minutes)} s` : minutes < 90 ? `${Math.round(minutes)} min` : `${(minutes / 60).toFixed(1)} h`);

/** @param {{name: string}} props */
function RunView({ name }) {
  const { value, error } = useLive(`/api/runs/${encodeURIComponent(name)}`);
  const run = /** @type {WholeRun|null} */ (value);
  const [shown, setShown] = useState(/** @type {Played|null} */ (null));
  if (!run) return html`<div><${Message} text=${error?.message} /></div>`;
  const groups = [...new Set(run.curves.map((curve) => curve.group))]
    .map((group) => run.curves.filter((curve) => curve.group === group && curve.x.length));
  /** @type {[string, string][]} */
  const facts = [
    ["Training time", duration(run.minutes)], ["Games", count(run.games)], ["Evaluations", count(run.evaluations)],
    ["Evaluations/s", run.evaluations_per_second === null ? "–" : count(run.evaluations_per_second)],
  ];
  return html`<div class="watch-main">
    <div class="title-line"><p class="status">${run.name}</p><p class="soft">${run.game}${run.search ? ` · ${run.search}` : ""}</p></div>
    <dl class="run-figures">${facts.map(([term, text]) => html`<div key=${term}><dt>${term}</dt><dd>${text}</dd></div>`)}</dl>
    <div class="plots">${groups.filter((group) => group.length).map((group) => html`<section class="card" key=${group[0].group}>
      <h2>${TITLES[group[0].group] ?? capital(group[0].label)}</h2>
      <${Lines} curves=${group} xLabel="minutes" label=${group[0].label} percent=${group[0].percent} /></section>`)}</div>
    ${run.records.length > 0 && html`<section class="card latest" aria-label="Latest games"><h2>Latest games</h2>
      <div class="latest-row">
        <ul class="latest-list" tabindex="0" aria-label="Latest games">${run.records.map((game, i) => html`<li key=${game.number ?? i}>
          <button type="button" class="move" aria-current=${(shown ?? run.records[0]).start + (shown ?? run.records[0]).steps === game.start + game.steps ? "true" : undefined}
            onClick=${() => setShown(game)}><span>${resultText(game.result)}</span><span class="soft">${game.steps.length} steps</span></button></li>`)}</ul>
        <${Replay} played=${shown ?? run.records[0]} />
      </div></section>`}
  </div>`;
}

/** @type {Record<string, string>} */
const TITLES = { scores: "Score against fixed players", exact: "Accuracy in solved positions", loss: "Training loss", evaluations_per_second: "Evaluations per second" };

/** Show a recorded game on the board. @param {{played: Played}} props */
function Replay({ played }) {
  const key = played.start + played.steps.join();
  const { value } = useLoaded(async () => ({ key, game: await walk(played) }), [key]);
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [key]);
  if (!value) return html`<div class="board-side small"></div>`;
  return html`<${Scene} key=${value.key} game=${value.game} review=${null} at=${Math.min(at, value.game.steps.length)} onGo=${setAt} small=${true} />`;
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

/** @param {number} n */
const whole = (n) => String(Math.round(n)).replace("-", "−");

/** @param {{name: string}} props */
function TournamentView({ name }) {
  const { value, error } = useLive(`/api/tournaments/${encodeURIComponent(name)}`);
  const tournament = /** @type {WholeTournament|null} */ (value);
  if (!tournament) return html`<div><${Message} text=${error?.message} /></div>`;
  return html`<div class="watch-main">
    <div class="title-line"><p class="status">${tournament.name}</p>
      <p class="soft">${tournament.game} · ${tournament.matches} matches${tournament.finished ? "" : " so far"}</p></div>
    <section class="card"><h2>Ratings</h2><div class="table-scroll" tabindex="0" role="region" aria-label="Ratings"><table class="ranks">
      <thead><tr><th scope="col" class="number">#</th><th scope="col">Player</th><th scope="col" class="number">Elo</th><th scope="col" class="number">95% interval</th><th scope="col" class="number">Points</th></tr></thead>
      <tbody>${tournament.ratings.map((row, i) => html`<tr key=${row.player}><td class="number soft">${i + 1}</td><th scope="row">${row.player}</th>
        <td class="number">${whole(row.elo)}</td><td class="number soft">${whole(row.interval[0])} to ${whole(row.interval[1])}</td>
        <td class="number">${row.points} / ${row.games}</td></tr>`)}</tbody>
    </table></div></section>
    <section class="card"><h2>Cross table</h2><p class="help">Score of the row player against the column player.</p>
      <div class="table-scroll" tabindex="0" role="region" aria-label="Cross table"><table class="cross">
      <thead><tr><th scope="col">Player</th>${tournament.ratings.map((row, i) => html`<th scope="col" class="number" key=${row.player} title=${row.player}>${i + 1}</th>`)}</tr></thead>
      <tbody>${tournament.cross.map((line, i) => html`<tr key=${i}><th scope="row"><span class="soft">${i + 1}</span> ${tournament.ratings[i]?.player}</th>
        ${line.map((share, j) => html`<td key=${j} class="number share ${share === null ? "none" : share >= 0.5 ? "up" : "down"}"
          style=${share === null ? {} : { "--strength": `${Math.round(Math.abs(share - 0.5) * 90)}%` }}>${i === j ? "" : share === null ? "–" : percent(share)}</td>`)}</tr>`)}</tbody>
    </table></div></section>
  </div>`;
}
