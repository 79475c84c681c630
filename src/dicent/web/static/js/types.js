// Types of the server's answers. This module has no code.
export {};

/** @typedef {"MAX"|"MIN"} Side */
/**
 * @typedef {{x: number, y: number, width: number, height: number, shape: string, name: string, text: string,
 *   marked: boolean, capacity: number, purpose: string}} Place
 */
/** @typedef {{place: number, owner: Side|null, count: number, label: string}} Stack */
/** @typedef {{rows: number, columns: number, row_names: string[], column_names: string[]}} Grid */
/**
 * @typedef {{width: number, height: number, places: Place[], stacks: Stack[], dice: string[], grid: Grid|null,
 *   caption: string, bottom: Side|null}} View `bottom`: who sits below the board; null if it is never turned
 */
/** @typedef {[number|null, number]} Hop from a place to a place, by their indexes */
/** @typedef {{text: string, paths: Hop[][]}} Action */
/** @typedef {{text: string, p: number, dice: string[]}} Outcome */
/**
 * @typedef {{game: string, position: string, to_play: Side|"CHANCE"|null, result: number|null, score: number|null, ply: number,
 *   roller: Side|null, view: View|null, actions: Action[], outcomes: Outcome[], note: string, ending: string,
 *   formats: {[name: string]: string}}} Position
 */
/** @typedef {{kind: "heading"|"text"|"list"|"picture", lines: string[], view: View|null, position: string, paths: Hop[][]}} RulesBlock */
/** @typedef {{game: string, title: string, blocks: RulesBlock[]}} RulesText */
/** @typedef {{owner: Side|null, count: number, label: string}} Captured */
/** @typedef {{step: string, player: Side|"CHANCE", position: string, dice: string[], captures: Captured[]}} Past */
/**
 * @typedef {{step: string, grade: string, large: boolean, loss: number, unit: "win"|"points", win: number|null,
 *   best_win: number|null}} GradedMove
 */
/**
 * @typedef {{id: string, game: string, title?: string, start: string, steps: string[], players: Record<Side, string>, names: Record<Side, string>,
 *   dice: "rolled"|"hand", result: number|null, ended: string|null, created: string, position: Position,
 *   history: Past[], reviewed: boolean, version: number, yours: Side|null, guest: boolean, waiting: boolean,
 *   rematch_offer: Side|null, rematch: string|null, clock: {left: Record<Side, number>, running: Side|null}|null}} Game `yours`: the side of this device in a game of two devices
 */
/**
 * @typedef {{name: string, default: any, help: string, choices: any[]|null, labels: Record<string, string>, example: string,
 *   hidden: boolean}} Option `labels` by the text of a value
 */
/**
 * @typedef {{name: string, title: string, description: string, options: Option[], chance: boolean,
 *   view: boolean}} GameInfo
 */
/**
 * @typedef {{version: string, games: GameInfo[], default_game: string, strengths: {name: string, title: string}[],
 *   formats: Format[], languages: {code: string, name: string}[], pages: string[], guest_of: string|null}} Info `pages`: those that the visitor may open; `guest_of`: the only game of a guest
 */
/** @typedef {{name: string, title: string, suffix: string}} Format of exported games */
/** @typedef {{outcome: string, p: number, value: number, win: number|null, equity?: number|null}} ByOutcome */
/**
 * @typedef {{action: string, value: number, win: number|null, loss: number|null, equity?: number|null, equity_loss?: number|null, visits: number, proved: boolean,
 *   pv: string[], variation?: Variation, by_outcome: ByOutcome[]}} Move
 */
/** @typedef {{step: string, player: Side|"CHANCE", position: string, path: Hop[]}[]} Variation steps with the position after each */
/**
 * @typedef {{position: string, value: number, win: number|null, equity?: number|null, player: Side, proved: boolean, depth: number,
 *   nodes: number, evaluations: number, time: number, full?: boolean, source?: string,
 *   moves: Move[], by_outcome: ByOutcome[]}} Analysis
 */
/**
 * @typedef {{step: string, player: Side|"CHANCE", position: string, win: {MAX: number}, luck?: number|null,
 *   loss?: number|null, grade?: string|null, best?: string|null, best_win?: number|null, equity?: number|null, best_equity?: number|null, proved?: boolean}} Moment
 */
/**
 * @typedef {{judge: string, unit?: "win"|"points", start_win?: {MAX: number}, start_equity?: number|null, moments: Moment[], luck: Record<Side, number>, loss: Record<Side, number>,
 *   mistakes: number[], verdict: string, adjusted: number,
 *   error_rate?: Partial<Record<Side, {decisions: number, millipoints: number, pr: number}>>}} Review
 */
/** @typedef {{from: number|null, to: number, kind: string, label?: string}} Arrow */
