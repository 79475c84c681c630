// Addresses of pages: the part of the URL after the hash.

/** @param {string} game @param {string} position */
export const analyseLink = (game, position) =>
  `#/analyse?${new URLSearchParams({ game, position }).toString()}`;

/** Link to a position with the variations that lead there. @param {string} game @param {string} position @param {string} root @param {string} tree */
export const treeLink = (game, position, root, tree) =>
  `#/analyse?${new URLSearchParams({ game, position, ...(tree ? { root, tree } : {}) }).toString()}`;

/** @param {string} game */
export const rulesLink = (game) => `#/rules?${new URLSearchParams({ game }).toString()}`;

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not URL-encoded, so no valid game id; typed by hand
  }
}

/** @param {string} hash @returns {{page: string, id: string, query: URLSearchParams}} */
export function readHash(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page, id = ""] = path.split("/");
  return { page: page || "play", id: decoded(id), query: new URLSearchParams(query) };
}
