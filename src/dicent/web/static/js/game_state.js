// Who plays a game, whose turn it is, and whether the game is over.

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").Side} Side */

/** @param {Game} game @param {Side|null} side */
export const isHuman = (game, side) => side !== null && game.players[side] === "human";

/** Return whether a person at this device plays a side. @param {Game} game @param {Side|null} side */
export const isMine = (game, side) => isHuman(game, side) && (!game.yours || game.yours === side);

/** @param {Game} game */
export const isOver = (game) => game.ended !== null || game.position.result !== null || game.result !== null;

/** Return the side that is to move, or that moves after the roll. @param {Game} game @returns {Side|null} */
export const turnOf = ({ position }) => (position.to_play === "CHANCE" ? position.roller : position.to_play);
