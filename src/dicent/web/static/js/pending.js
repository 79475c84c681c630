// What the server is still preparing for a game, so that the page can say what a player waits for.
import { useEffect, useState } from "./ui.js";
import { get, wait } from "./api.js";
import { t } from "./language.js";

const POLL = 1000;

/** Return the jobs that the server has not finished: "hint", strengths, "analysis", "review". @param {string|null} id of a game; null for none */
export function usePending(id) {
  const [jobs, setJobs] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    const stop = new AbortController();
    setJobs([]);
    if (id === null) return;
    async function watch() {
      for (;;) {
        const answer = await get(`/api/games/${encodeURIComponent(String(id))}/pending`, {}, { signal: stop.signal });
        if (stop.signal.aborted) return;
        setJobs(answer.jobs);
        if (!answer.jobs.length) return;
        await wait(POLL);
      }
    }
    watch().catch(() => {}); // the page itself says if the game or the server is missing
    return () => stop.abort();
  }, [id]);
  return jobs;
}

/** Say what a request waits for. @param {string|null} busy the request @param {string[]} pending @param {string} player who is to move */
export function waitText(busy, pending, player) {
  if (busy === "hint") return pending.includes("hint") ? t("A quick look, while the full search is being prepared.") : t("Looking for a hint.");
  if (busy === "reply" && pending.includes(player)) return t("Preparing the computer for this game. The first moves may take longer.");
  return "";
}
