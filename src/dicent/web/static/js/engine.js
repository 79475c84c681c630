// A client of the engine over the WebSocket: each query gets partial results and then a final one.
import { useEffect, useRef, useState } from "./ui.js";

/** @typedef {import("./types.js").Analysis} Analysis */
/** @typedef {{id: number, query: object, answer: (answer: any) => void}} Waiting */

const RETRY = 1500;
export const VARIATIONS = 5; // best moves whose line comes with its positions
/** @type {WebSocket|null} */
let socket = null;
let nextId = 1;
/** @type {Map<number, Waiting>} */
const waiting = new Map();

function connect() {
  if (socket && socket.readyState <= WebSocket.OPEN) return;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/api/engine`);
  socket.onopen = () => {
    for (const { query } of waiting.values()) socket?.send(JSON.stringify(query));
  };
  socket.onmessage = (event) => {
    const answer = JSON.parse(event.data);
    const asked = waiting.get(answer.id);
    if (!asked) return;
    if (answer.partial !== true && answer.warning === undefined) waiting.delete(answer.id);
    asked.answer(answer);
  };
  socket.onclose = () => {
    socket = null;
    if (waiting.size) setTimeout(connect, RETRY);
  };
}

/** @param {object} message */
function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

/**
 * Send an analysis query; return a function that ends it.
 * @param {{game: string, position: string, player?: string, limit?: object, every?: number, variations?: number}} query
 * @param {(answer: {analysis?: Analysis, partial?: boolean, error?: string, field?: string}) => void} answer
 */
export function analyse(query, answer) {
  const id = nextId++;
  const whole = { id, query: "analyse", ...query };
  waiting.set(id, { id, query: whole, answer });
  connect();
  send(whole);
  return () => {
    if (!waiting.delete(id)) return;
    send({ id: nextId++, query: "terminate", of: id });
  };
}

/** Return the first side's winning chances. @param {Analysis|null} analysis */
export function firstWin(analysis) {
  if (!analysis || analysis.win === null || !Number.isFinite(analysis.win)) return null;
  return analysis.player === "MIN" ? 1 - analysis.win : analysis.win;
}

/** The first side's points, where values are points. @param {Analysis|null} analysis */
export function firstEquity(analysis) {
  const points = analysis?.equity ?? null;
  return points !== null && analysis?.player === "MIN" ? -points : points;
}

/**
 * Analyse a position, restart when it changes; the analysis can be stopped and resumed.
 * @param {{game: string, position: string|null, player?: string, time: number, running: boolean}} what
 */
export function useAnalysis({ game, position, player, time, running }) {
  const [state, setState] = useState(
    /** @type {{of: string, analysis: Analysis|null, error: string|null, done: boolean}} */
    ({ of: "", analysis: null, error: null, done: false }),
  );
  const round = useRef(0);
  const [rounds, setRounds] = useState(0);
  const of = `${game}\n${position}\n${player ?? ""}`;
  useEffect(() => {
    if (!running || position === null) return;
    round.current += 1;
    setState((before) => (before.of === of ? { ...before, error: null, done: false } : { of, analysis: null, error: null, done: false }));
    return analyse({ game, position, ...(player ? { player } : {}), limit: { time }, every: 0.25, variations: VARIATIONS }, (answer) => {
      if (answer.error) setState({ of, analysis: null, error: answer.error, done: true });
      else if (answer.analysis) {
        setState({ of, analysis: answer.analysis, error: null, done: answer.partial === false });
      }
    });
  }, [of, running, time, rounds]);
  const mine = state.of === of ? state : { analysis: null, error: null, done: false };
  return { ...mine, resume: () => setRounds(rounds + 1) };
}
