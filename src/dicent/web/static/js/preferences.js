// Preferences stored in the browser.
import { useState } from "./ui.js";

/** @param {string} name @param {any} otherwise */
export function readPreference(name, otherwise) {
  try {
    const text = localStorage.getItem(`dicent.${name}`);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** @param {string} name @param {any} value */
export function savePreference(name, value) {
  try {
    localStorage.setItem(`dicent.${name}`, JSON.stringify(value));
  } catch {
    // storage may be disabled; the page works without it
  }
}

/**
 * @template T
 * @param {string} name @param {T} otherwise
 * @returns {[T, (value: T) => void]}
 */
export function usePreference(name, otherwise) {
  const [value, setValue] = useState(() => /** @type {T} */ (readPreference(name, otherwise)));
  return [
    value,
    (/** @type {T} */ next) => {
      savePreference(name, next);
      setValue(next);
    },
  ];
}
