// Types of the server's answers. This module has no code.
export {};

/** @typedef {"MAX"|"MIN"} Side */
/** @typedef {[number, number]} Cell a row and a column, counted from the top left */
/** @typedef {{row: number, column: number, label: string, owner: Side|null}} Piece */
/**
 * @typedef {{rows: number, columns: number, pieces: Piece[], die: string, marked: Cell[],
 *   row_names: string[], column_names: string[], caption: string}} View
 */
/** @typedef {{text: string, from: Cell|null, to: Cell|null, label?: string|null}} Action */
/** @typedef {{text: string, p: number}} Outcome */
/**
 * @typedef {{game: string, position: string, to_play: Side|"CHANCE"|null, result: number|null, ply: number,
 *   roller: Side|null, view: View|null, actions: Action[], outcomes: Outcome[]}} Position
 */
/** @typedef {{step: string, player: Side|"CHANCE", position: string}} Past */
/**
 * @typedef {{id: string, game: string, start: string, steps: string[], players: Record<Side, string>,
 *   dice: "rolled"|"hand", result: number|null, ended: string|null, created: string, position: Position,
 *   history: Past[], reviewed: boolean}} Game
 */
/** @typedef {{name: string, default: any, help: string, choices: any[]|null}} Option */
/**
 * @typedef {{name: string, title: string, description: string, options: Option[], chance: boolean,
 *   view: boolean}} GameInfo
 */
/**
 * @typedef {{version: string, games: GameInfo[], strengths: {name: string, title: string}[],
 *   formats: any[]}} Info
 */
/** @typedef {{outcome: string, p: number, value: number, win: number|null, equity?: number|null}} ByOutcome */
/**
 * @typedef {{action: string, value: number, win: number|null, loss: number|null, equity?: number|null, equity_loss?: number|null, visits: number, proved: boolean,
 *   pv: string[], by_outcome: ByOutcome[]}} Move
 */
/**
 * @typedef {{position: string, value: number, win: number|null, equity?: number|null, player: Side, proved: boolean, depth: number,
 *   nodes: number, evaluations: number, time: number, full?: boolean, source?: string,
 *   moves: Move[], by_outcome: ByOutcome[]}} Analysis
 */
/**
 * @typedef {{step: string, player: Side|"CHANCE", position: string, win: {MAX: number}, luck?: number|null,
 *   loss?: number|null, best?: string|null, best_win?: number|null, equity?: number|null, proved?: boolean}} Moment
 */
/**
 * @typedef {{judge: string, unit?: "win"|"points", start_win?: {MAX: number}, start_equity?: number|null, moments: Moment[], luck: Record<Side, number>, loss: Record<Side, number>,
 *   mistakes: number[], verdict: string, adjusted: number}} Review
 */
/** @typedef {{from: Cell|null, to: Cell, kind: string, label?: string}} Arrow */
