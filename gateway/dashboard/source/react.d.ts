// The parts of React's interface that the dashboard uses. Debian has no package with React's own types.

declare module "react" {
  export type ReactNode = ReactElement | string | number | boolean | null | undefined | readonly ReactNode[];
  export interface ReactElement {
    readonly type: unknown;
    readonly props: unknown;
    readonly key: string | null;
  }
  export type SetState<S> = (next: S | ((previous: S) => S)) => void;
  export interface Ref<T> {
    current: T;
  }
  export interface Context<T> {
    Provider: (properties: { value: T; children?: ReactNode }) => ReactElement;
  }
  export function useState<S>(initial: S | (() => S)): [S, SetState<S>];
  export function useEffect(effect: () => void | (() => void), on?: readonly unknown[]): void;
  export function useLayoutEffect(effect: () => void | (() => void), on?: readonly unknown[]): void;
  export function useMemo<T>(make: () => T, on: readonly unknown[]): T;
  export function useCallback<F extends (...given: never[]) => unknown>(call: F, on: readonly unknown[]): F;
  export function useRef<T>(initial: T): Ref<T>;
  export function useContext<T>(context: Context<T>): T;
  export function useId(): string;
  export function useSyncExternalStore<T>(subscribe: (changed: () => void) => () => void, value: () => T): T;
  export function createContext<T>(initial: T): Context<T>;
  export const Fragment: (properties: { children?: ReactNode; key?: string | number }) => ReactElement;
  export abstract class Component<P, S> {
    constructor(properties: P);
    readonly props: P;
    state: S;
    setState(next: Partial<S>): void;
    abstract render(): ReactNode;
  }
}

declare module "react/jsx-runtime" {
  export const jsx: unknown;
  export const jsxs: unknown;
  export const Fragment: unknown;
}

declare module "react-dom/client" {
  import { ReactNode } from "react";
  export function createRoot(element: Element): { render(node: ReactNode): void };
}

declare module "*.woff2" {
  const address: string;
  export default address;
}
declare module "*.css";

declare namespace JSX {
  type Node = import("react").ReactNode;
  type Element = import("react").ReactElement;
  interface ElementClass {
    render(): Node;
  }
  interface ElementChildrenAttribute {
    children: unknown;
  }
  interface IntrinsicAttributes {
    key?: string | number;
  }

  type Handler<E> = (event: E) => void;
  interface TargetEvent<T> extends Event {
    readonly currentTarget: T & EventTarget;
  }
  interface Attributes<T> {
    key?: string | number;
    ref?: { current: T | null } | ((element: T | null) => void);
    children?: Node;
    className?: string;
    style?: { [name: string]: string | number | undefined };
    onClick?: Handler<MouseEvent & TargetEvent<T>>;
    onMouseDown?: Handler<MouseEvent & TargetEvent<T>>;
    onMouseMove?: Handler<MouseEvent & TargetEvent<T>>;
    onMouseLeave?: Handler<MouseEvent & TargetEvent<T>>;
    onChange?: Handler<TargetEvent<T>>;
    onInput?: Handler<TargetEvent<T>>;
    onSubmit?: Handler<TargetEvent<T>>;
    onClose?: Handler<TargetEvent<T>>;
    onCancel?: Handler<TargetEvent<T>>;
    onToggle?: Handler<TargetEvent<T>>;
    onScroll?: Handler<TargetEvent<T>>;
    onKeyDown?: Handler<KeyboardEvent & TargetEvent<T>>;
    onFocus?: Handler<FocusEvent & TargetEvent<T>>;
    onBlur?: Handler<FocusEvent & TargetEvent<T>>;
    onDragStart?: Handler<DragEvent & TargetEvent<T>>;
    onDragOver?: Handler<DragEvent & TargetEvent<T>>;
    onDragLeave?: Handler<DragEvent & TargetEvent<T>>;
    onDragEnd?: Handler<DragEvent & TargetEvent<T>>;
    onDrop?: Handler<DragEvent & TargetEvent<T>>;
    [attribute: string]: unknown;
  }
  type Elements = { [Name in keyof HTMLElementTagNameMap]: Attributes<HTMLElementTagNameMap[Name]> };
  interface IntrinsicElements extends Elements {
    svg: Attributes<SVGSVGElement>;
    path: Attributes<SVGElement>;
    g: Attributes<SVGElement>;
    line: Attributes<SVGElement>;
    rect: Attributes<SVGElement>;
    circle: Attributes<SVGElement>;
    polyline: Attributes<SVGElement>;
    text: Attributes<SVGElement>;
  }
}
