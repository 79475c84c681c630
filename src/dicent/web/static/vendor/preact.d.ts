export type Node = any;
export function h(type: any, props?: any, ...children: any[]): Node;
export function render(node: Node, parent: Element): void;
export const Fragment: any;
export function createContext<T>(value: T): { Provider: any; value?: T };
