// Export a game as a file. A game that the format cannot express raises an error, and no file is saved.
import { get } from "./api.js";
import { t } from "./language.js";

/** @typedef {import("./types.js").Format} Format */

/** Our own format. @type {Format} */
export const RECORD = { name: "record", title: "record", suffix: "jsonl" };

/** Name a format on a page. @param {Format} format */
export const formatName = (format) => (format.name === "record" ? t("record") : format.title);

/** @param {string} id @param {Format} format */
export async function exportGame(id, format) {
  const text = await get(`/api/games/${encodeURIComponent(id)}/export`, { format: format.name }, { text: true });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = `${id}.${format.suffix}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
