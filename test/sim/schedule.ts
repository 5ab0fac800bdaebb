/** The state that the areas of a schedule share: random numbers, clock, the current process, and its acknowledged work. */
import { createHash } from 'node:crypto';
import { AssayError, messageOf } from '../../src/base/errors.ts';
import { isStorageFull } from '../../src/state/storage.ts';
import { Killed, type Life } from './virtual-disk.ts';
import type { SimProcess } from './whole-process.ts';

/** A guarantee of the program that does not hold. */
export class Broken extends Error {}

export function must(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Broken(sentence);
}

/** Whether a requested change exists: `unknown` if its request got no response. */
export type Standing = 'unknown' | 'done' | 'refused';

export interface Schedule {
  readonly below: (count: number) => number;
  readonly chance: (percent: number) => boolean;
  readonly pick: <T>(of: readonly T[]) => T;
  readonly now: () => number;
  /** The serving process, and its life. */
  process: SimProcess;
  life: Life;
  /** Runs a check of the process's background work; the schedule is broken if it throws. */
  require(look: () => void): void;
  /** Adds a line to the trace. */
  note(line: string): void;
  /**
   * Sends a request to the process. `onAnswer` is called with the result, unless the process was killed before. An error that neither comes
   * from a full disk nor has a code in `allowed` breaks the schedule.
   */
  ask<T>(
    name: string,
    work: () => T | Promise<T>,
    onAnswer: (answer: Answer<T>) => void,
    allowed?: readonly string[],
  ): void;
}

export type Answer<T> =
  | { readonly value: T; readonly error: null }
  | { readonly value: null; readonly error: Error };

/** A part of the program under test: its requests, and the guarantees that it must keep. */
export interface Area {
  /** Each act sends one request; the number is the weight with which it is drawn. */
  readonly acts: readonly (readonly [weight: number, act: () => void])[];
  /** Runs at each start, and at the end. */
  check(): void | Promise<void>;
  /** Runs when a new process has just started to serve. */
  onStart?(): void;
  /** Runs after the clock jumped. */
  onClock?(): void;
  /** Runs at the end, when nothing fails any more. Returns false until all work is complete. */
  settle?(): boolean | Promise<boolean>;
}

export const codeOf = (error: unknown): string => (error instanceof AssayError ? error.code : '');

/** Whether an error may come from the faults of the disk. */
export const isDiskFault = (error: unknown): boolean =>
  isStorageFull(error) ||
  error instanceof Killed ||
  (error instanceof Error && error.cause !== undefined && isDiskFault(error.cause));

export const describeError = (error: unknown): string =>
  // Without folders and numbers that differ from run to run.
  `${codeOf(error)} ${messageOf(error)}`
    .trim()
    .replace(/\S*assay-whole-[^/]*\/\d+/g, '')
    .replace(/\d+-[\d-]+/g, '#');

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
