type Set<T> = (value: T | ((before: T) => T)) => void;
export function useState<T>(value: T | (() => T)): [T, Set<T>];
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
export function useCallback<T extends (...given: any[]) => any>(callback: T, inputs: readonly unknown[]): T;
export function useRef<T>(value: T): { current: T };
export function useId(): string;
