// The language of the pages. A catalogue maps English sentences to those of another language; a sentence without
// an entry stays English. See "Add a language" in docs/guides/pages.md.
import { readPreference, savePreference } from "./preferences.js";

/** @typedef {Record<string, string|Record<string, string>>} Sentences by English; several forms by the plural of `n` */
/** @typedef {{language: string, pages: Sentences, answers: Sentences}} Catalogue `answers` has texts of the server and the games */
/** @typedef {{pattern: RegExp, names: string[], key: string}} Pattern a sentence with placeholders */

const ENGLISH = "en";
const PLACEHOLDER = /\{(\w+)\}/g;
const MOST = 2000; // translated answers that are remembered

/** @type {Catalogue} */
let catalogue = { language: ENGLISH, pages: {}, answers: {} };
/** @type {Pattern[]} */
let patterns = [];
/** @type {Map<string, string>} */
const remembered = new Map();

/** Return the language of the pages, as in `de`. */
export const language = () => catalogue.language;

/** Load the catalogue of the preferred language: the chosen one, or the browser's. */
export async function loadLanguage() {
  const wanted = String(readPreference("language", null) ?? navigator.language ?? ENGLISH);
  if (!isEnglish(wanted)) {
    const answer = await fetch(`/api/catalogue?${new URLSearchParams({ language: wanted })}`).catch(() => null);
    if (answer?.ok) useCatalogue(await answer.json());
  }
  document.documentElement.lang = catalogue.language;
  // The offline page has no catalogue. It shows these.
  savePreference("offline", {
    language: catalogue.language,
    title: t("Dicent is not running"),
    text: t("Start it with {command}. This page then opens by itself. Your games are saved.", { command: "dicent serve" }),
  });
}

/** @param {string} code */
const isEnglish = (code) => code.split("-")[0] === ENGLISH;

/** @param {Catalogue} loaded */
export function useCatalogue(loaded) {
  catalogue = loaded;
  remembered.clear();
  patterns = Object.keys(loaded.answers).filter((key) => key.includes("{")).map(patternOf);
  patterns.sort((a, b) => literal(b.key) - literal(a.key)); // the most specific first
}

/** Change the language for good: texts of modules are made once, so the page loads again. @param {string} code */
export function chooseLanguage(code) {
  savePreference("language", code);
  location.reload();
}

/**
 * Translate a sentence of the pages. Tests find these sentences by their literals.
 * @param {string} sentence @param {Record<string, any>} [values] of the placeholders, as in "{who} rolls"
 */
export const t = (sentence, values = {}) => fill(form(catalogue.pages[sentence] ?? sentence, values), values);

/** Choose among the forms of a sentence by the number `n`. @param {string|Record<string, string>} entry @param {Record<string, any>} values */
function form(entry, values) {
  if (typeof entry === "string") return entry;
  return entry[new Intl.PluralRules(catalogue.language).select(Number(values.n))] ?? entry.other ?? "";
}

/** @param {string} text @param {Record<string, any>} values */
const fill = (text, values) => text.replace(PLACEHOLDER, (whole, name) => (name in values ? String(values[name]) : whole));

/** Translate a text of the server or a game: as a whole, or sentence by sentence. @param {string|null|undefined} text */
export function translated(text) {
  if (!text || isEnglish(catalogue.language)) return text ?? "";
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const found = entryFor(text) ?? text.split(SENTENCES).map((sentence) => entryFor(sentence) ?? withoutStop(sentence)).join(" ");
  if (remembered.size >= MOST) remembered.clear();
  remembered.set(text, found);
  return found;
}

/** Translate a note that stands in a text as a sentence. @param {string} sentence */
function withoutStop(sentence) {
  const note = sentence.endsWith(".") ? entryFor(sentence.slice(0, -1)) : null;
  return note === null ? sentence : `${note}.`;
}
const SENTENCES = /(?<=[.!?]) +/;
const VALUE = "((?:(?![.!?] ).)+?)"; // within a sentence

/** @param {string} text @returns {string|null} */
function entryFor(text) {
  const entry = catalogue.answers[text];
  if (entry !== undefined) return form(entry, {});
  for (const { pattern, names, key } of patterns) {
    const found = pattern.exec(text);
    if (!found) continue;
    const values = Object.fromEntries(names.map((name, i) => [name, wordFor(found[i + 1])]));
    return fill(form(catalogue.answers[key], values), values);
  }
  return null;
}

/** Translate what stands for a placeholder: a number, or a text with an entry of its own. @param {string} text */
function wordFor(text) {
  const number = /^([+-]?)(\d+)(?:\.(\d+))?(%?)$/.exec(text);
  if (number) {
    const [, sign, whole, decimals = "", share] = number;
    const n = sign + decimal(Number(`${whole}.${decimals}`), decimals.length);
    return share ? t("{n}%", { n }) : n;
  }
  const entry = catalogue.answers[text];
  return typeof entry === "string" ? entry : text;
}

/** @param {string} key @returns {Pattern} */
function patternOf(key) {
  const names = [...key.matchAll(PLACEHOLDER)].map((found) => found[1]);
  const source = key.split(/\{\w+\}/).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(VALUE);
  return { pattern: new RegExp(`^${source}$`, "s"), names, key };
}

/** Return how many letters of a key are no placeholders. @param {string} key */
const literal = (key) => key.replace(PLACEHOLDER, "").length;

/** Write a number with a fixed count of decimals. @param {number} n @param {number} digits */
export const decimal = (n, digits) =>
  new Intl.NumberFormat(catalogue.language, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false }).format(n).replace("-", "−");

/** Write a number with as many decimals as it needs. @param {number} n @param {number} [digits] at most */
export const plainNumber = (n, digits = 0) => n.toLocaleString(catalogue.language, { maximumFractionDigits: digits });
