// Training as it goes on: the curves of a run and its latest games; tournaments.
import { html, useEffect, useState } from "./ui.js";
import { Message } from "./parts.js";

/** @param {{query: URLSearchParams}} props */
export function Watch({ query }) {
  return html`<div class="page narrow"><h1>Watch</h1><${Message} text=${null} /></div>`;
}
