// Sounds of dice and moves: short bursts of filtered noise, off unless the user wants them.
import { html, useEffect, useRef } from "./ui.js";
import { t } from "./language.js";
import { Toggle } from "./components.js";
import { usePreference } from "./preferences.js";

/** @typedef {{after: number, pitch: number, loudness: number}} Knock seconds, hertz, and from 0 to 1 */

const LENGTH = 0.06; // seconds of a knock
/** @type {Knock[]} */
const MOVE = [{ after: 0, pitch: 420, loudness: 0.5 }];
/** @type {Knock[]} */
const DICE = [0, 0.09, 0.16, 0.27, 0.33, 0.46].map((after, i) => ({ after, pitch: 1900 - 130 * i, loudness: 0.34 - 0.04 * i }));

/** @type {AudioContext|null} */
let audio = null;

/** @param {Knock[]} knocks */
function sound(knocks) {
  audio ??= new AudioContext();
  audio.resume().catch(() => {}); // browsers wait for a click of the user
  const samples = Math.round(LENGTH * audio.sampleRate);
  const noise = audio.createBuffer(1, samples, audio.sampleRate);
  const data = noise.getChannelData(0);
  for (let i = 0; i < samples; i++) data[i] = (2 * Math.random() - 1) * (1 - i / samples) ** 4;
  for (const { after, pitch, loudness } of knocks) {
    const source = new AudioBufferSourceNode(audio, { buffer: noise });
    const body = new BiquadFilterNode(audio, { type: "bandpass", frequency: pitch, Q: 2.5 });
    source.connect(body).connect(new GainNode(audio, { gain: 3 * loudness })).connect(audio.destination);
    source.start(audio.currentTime + after);
  }
}

/** Sound each new step of a game if the user has turned that on. @param {{game: import("./types.js").Game}} props */
export function Sound({ game }) {
  const [on, setOn] = usePreference("sound", false);
  const heard = useRef({ id: game.id, steps: game.history.length });
  useEffect(() => {
    const isNew = heard.current.id === game.id && game.history.length > heard.current.steps;
    heard.current = { id: game.id, steps: game.history.length };
    if (on && isNew) sound(game.history[game.history.length - 1].player === "CHANCE" ? DICE : MOVE);
  }, [game]);
  return html`<${Toggle} label=${t("Sound")} checked=${on} onChange=${setOn} />`;
}
