/// What scripts find besides `host` and the language itself, declared as far as TypeScript's own library lacks it.
enum RuntimeGlobals {
    static let text = """
        // The runtime's own.

        /** The project's data, kept over a reload; a script declares or assigns it. */
        declare var state: any;
        /** Functions that a person, a schedule or another program can call by name. */
        declare var actions: Record<string, (payload: any) => unknown>;

        /** Loads a file of the project: `require("./file.js")`, `require("./data.json")`. */
        declare function require(path: string): any;
        declare var exports: any;
        declare var module: { exports: any; readonly id: string; readonly filename: string; readonly loaded: boolean };
        declare const __filename: string;
        declare const __dirname: string;

        declare class HostError extends Error implements Apsule.HostError {
          constructor(code: string, message: string, details?: Record<string, any>);
          readonly code: string;
          readonly details: Record<string, any>;
        }

        interface Console {
          log(...values: unknown[]): void;
          info(...values: unknown[]): void;
          debug(...values: unknown[]): void;
          warn(...values: unknown[]): void;
          error(...values: unknown[]): void;
          trace(...values: unknown[]): void;
          assert(condition?: unknown, ...values: unknown[]): void;
          dir(value: unknown, options?: { depth?: number | null }): void;
          table(rows: unknown, columns?: string[]): void;
          group(...values: unknown[]): void;
          groupCollapsed(...values: unknown[]): void;
          groupEnd(): void;
          clear(): void;
          count(label?: string): void;
          countReset(label?: string): void;
          time(label?: string): void;
          timeLog(label?: string, ...values: unknown[]): void;
          timeEnd(label?: string): void;
        }
        declare var console: Console;

        declare function setTimeout<A extends any[]>(callback: (...values: A) => void, ms?: number, ...values: A): number;
        declare function setInterval<A extends any[]>(callback: (...values: A) => void, ms?: number, ...values: A): number;
        declare function clearTimeout(timer: number | undefined): void;
        declare function clearInterval(timer: number | undefined): void;
        declare function queueMicrotask(callback: () => void): void;
        declare function structuredClone<T>(value: T): T;
        declare function atob(base64: string): string;
        declare function btoa(binary: string): string;
        declare const performance: { now(): number; readonly timeOrigin: number };

        declare class DOMException extends Error {
          constructor(message?: string, name?: string);
          readonly code: number;
        }

        declare class Event {
          constructor(type: string, options?: { cancelable?: boolean });
          readonly type: string;
          readonly target: EventTarget | null;
          readonly defaultPrevented: boolean;
          preventDefault(): void;
          stopPropagation(): void;
          stopImmediatePropagation(): void;
        }

        declare class EventTarget {
          addEventListener(
            type: string, listener: ((event: Event) => void) | { handleEvent(event: Event): void } | null,
            options?: { once?: boolean; signal?: AbortSignal } | boolean): void;
          removeEventListener(type: string, listener: ((event: Event) => void) | { handleEvent(event: Event): void } | null): void;
          dispatchEvent(event: Event): boolean;
        }

        declare class AbortSignal extends EventTarget {
          private constructor();
          readonly aborted: boolean;
          readonly reason: any;
          onabort: ((event: Event) => void) | null;
          throwIfAborted(): void;
          static abort(reason?: unknown): AbortSignal;
          static timeout(ms: number): AbortSignal;
          static any(signals: Iterable<AbortSignal>): AbortSignal;
        }

        declare class AbortController {
          readonly signal: AbortSignal;
          abort(reason?: unknown): void;
        }

        declare class TextEncoder {
          readonly encoding: "utf-8";
          encode(text?: string): Uint8Array;
          encodeInto(text: string, target: Uint8Array): { read: number; written: number };
        }

        declare class TextDecoder {
          constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
          readonly encoding: string;
          readonly fatal: boolean;
          readonly ignoreBOM: boolean;
          decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
        }

        declare class URL {
          constructor(url: string | URL, base?: string | URL);
          static canParse(url: string | URL, base?: string | URL): boolean;
          static parse(url: string | URL, base?: string | URL): URL | null;
          href: string;
          readonly origin: string;
          protocol: string;
          username: string;
          password: string;
          host: string;
          hostname: string;
          port: string;
          pathname: string;
          search: string;
          readonly searchParams: URLSearchParams;
          hash: string;
          toString(): string;
          toJSON(): string;
        }

        declare class URLSearchParams implements Iterable<[string, string]> {
          constructor(init?: string | Iterable<[string, string]> | Record<string, string> | URLSearchParams);
          readonly size: number;
          append(name: string, value: string): void;
          delete(name: string, value?: string): void;
          get(name: string): string | null;
          getAll(name: string): string[];
          has(name: string, value?: string): boolean;
          set(name: string, value: string): void;
          sort(): void;
          forEach(callback: (value: string, name: string, all: URLSearchParams) => void): void;
          keys(): IterableIterator<string>;
          values(): IterableIterator<string>;
          entries(): IterableIterator<[string, string]>;
          [Symbol.iterator](): IterableIterator<[string, string]>;
          toString(): string;
        }

        """
}
