// Export a game as a file. A game that the format cannot express raises an error, and no file is saved.
import { get } from "./api.js";
import { t } from "./language.js";

/** Name a format on a page: notations of games are initials. @param {string} format */
export const formatName = (format) => (format === "record" ? t("record") : format.toUpperCase());

/** @param {string} id @param {string} format */
export async function exportGame(id, format) {
  const text = await get(`/api/games/${encodeURIComponent(id)}/export`, { format }, { text: true });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = `${id}.${format === "record" ? "jsonl" : format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
