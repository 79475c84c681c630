// The page for setting up a position by hand.
import { html, useEffect, useState } from "./ui.js";
import { get } from "./api.js";
import { Board } from "./board.js";
import { Faces } from "./die.js";
import { Choice, Dot, Message, useLoaded } from "./components.js";
import { t } from "./language.js";
import { emptyDraft, learnWriter, put, readDraft, viewOf, writeDraft } from "./setup.js";
import { COLOUR } from "./format.js";

/**
 * @param {{game: string, position: import("./types.js").Position, onDone: (text: string) => void, onCancel: () => void}} props
 */
export function SetUp({ game, position, onDone, onCancel }) {
  const { value: learned, error } = useLoaded(async () => ({ writer: await learnWriter(game) }), [game]);
  const [draft, setDraft] = useState(/** @type {import("./setup.js").Draft|null} */ (null));
  const [hand, setHand] = useState(/** @type {import("./setup.js").Kind|null} */ (null));
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const writer = learned?.writer ?? null;
  const text = writer && draft ? writeDraft(writer, draft) : "";
  useEffect(() => {
    if (!writer) return;
    setDraft(readDraft(writer, position) ?? emptyDraft(writer));
    setHand(writer.kinds[0]);
  }, [writer]);
  useEffect(() => {
    if (!text) return;
    const stop = new AbortController();
    get("/api/position", { game, position: text }, { signal: stop.signal }).then(
      () => setProblem(null),
      (e) => stop.signal.aborted || setProblem(e.message),
    );
    return () => stop.abort();
  }, [text]);
  if (learned && !writer) {
    return html`<div class="page narrow"><h1>${t("Set up a position")}</h1>
      <p>${t("Positions of this game can only be entered as text.")}</p>
      <div class="buttons"><button type="button" class="quiet" onClick=${onCancel}>${t("Back")}</button></div></div>`;
  }
  if (!writer || !draft) return html`<div class="page narrow"><${Message} text=${error?.message} /></div>`;

  const standing = new Set(draft.cells.flat());
  const palette = (/** @type {string|null} */ owner) => html`<div class="palette" role="group" aria-label=${owner ? t("{who}'s pieces", { who: COLOUR[owner] }) : t("Other pieces")}>
    ${writer.kinds.filter((kind) => kind.owner === owner).map((kind) => html`<button type="button" key=${kind.letter}
      class="palette-piece ${kind.single && standing.has(kind) ? "standing" : ""}" aria-pressed=${String(hand === kind)}
      aria-label=${`${COLOUR[owner ?? ""] ?? ""} ${kind.label}`} onClick=${() => setHand(kind)}>
      <span class="piece ${owner ?? "nobody"}">${kind.label}</span></button>`)}
  </div>`;
  return html`<div class="page two">
    <div class="board-side">
      <${Board} view=${viewOf(writer, draft)} onPlace=${(/** @type {number} */ place) => setDraft(put(draft, hand, place))} label=${t("Board to set up")} />
    </div>
    <div class="side">
      <h1>${t("Set up a position")}</h1>
      <p class="help">${t("Choose a piece, then a square. Choose the same square again to remove it.")}</p>
      <section class="card stack">
        ${palette("MAX")} ${palette("MIN")}
        <div class="buttons">
          <button type="button" class="quiet" aria-pressed=${String(hand === null)} onClick=${() => setHand(null)}>${t("Eraser")}</button>
          <button type="button" class="quiet" onClick=${() => setDraft({ ...emptyDraft(writer), mover: draft.mover })}>${t("Clear board")}</button>
        </div>
      </section>
      <${Choice} legend=${t("To play")} name="mover" value=${draft.mover} onChange=${(/** @type {string} */ mover) => setDraft({ ...draft, mover })}
        choices=${[["1", html`<${Dot} side="MAX" />${COLOUR.MAX}`], ["2", html`<${Dot} side="MIN" />${COLOUR.MIN}`]]} />
      ${draft.die !== null && html`<div class="labelled"><span class="label">${t("Die")}</span>
        <${Faces} rolls=${["-", ...writer.faces].map((text) => ({ text }))} chosen=${draft.die} onChoose=${(/** @type {string} */ die) => setDraft({ ...draft, die })} label=${t("Die; a dash means not rolled yet")} /></div>`}
      <label class="field-label" for="draft">${t("Position text")}<input id="draft" class="mono" readonly value=${text} /></label>
      <${Message} text=${problem} kind="note" />
      <div class="buttons">
        <button type="button" class="primary" disabled=${problem !== null} onClick=${() => onDone(text)}>${t("Analyse")}</button>
        <button type="button" class="quiet" onClick=${onCancel}>${t("Cancel")}</button>
      </div>
    </div>
  </div>`;
}
