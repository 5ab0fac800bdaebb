/** What the areas of a schedule share: its dice, its clock, the process of the moment, and what was acknowledged by it. */
import { createHash } from 'node:crypto';
import { AssayError, messageOf } from '../../src/base/errors.ts';
import { isStorageFull } from '../../src/base/storage.ts';
import { Killed, type Life } from './virtual-disk.ts';
import type { SimProcess } from './whole-process.ts';

/** A promise of the program that does not hold. */
export class Broken extends Error {}

export function must(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Broken(sentence);
}

/** Whether something that was asked for is there: `unknown` if its request got no answer. */
export type Standing = 'unknown' | 'done' | 'refused';

export interface Schedule {
  readonly below: (count: number) => number;
  readonly chance: (percent: number) => boolean;
  readonly pick: <T>(of: readonly T[]) => T;
  readonly now: () => number;
  /** The process that serves, and its life. */
  process: SimProcess;
  life: Life;
  /** Runs a look at what the process does by itself; the schedule is broken if it throws. */
  require(look: () => void): void;
  /** Adds a line to the trace. */
  note(line: string): void;
  /**
   * Asks the process for something. `onAnswer` is called with what it comes to, unless the process was killed before. An error is one
   * of a full disk, or of a code in `allowed`, or breaks the schedule.
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

/** A part of the program under test: what is asked of it, and what must hold of it. */
export interface Area {
  /** Each asks the process for one thing; the number is how often it is drawn. */
  readonly acts: readonly (readonly [weight: number, act: () => void])[];
  /** At each start, and at the end. */
  check(): void | Promise<void>;
  /** Told of a process that has just begun to serve. */
  onStart?(): void;
  /** After the clock jumped. */
  onClock?(): void;
  /** The end: nothing fails any more, and all comes to rest. Returns false while it has not. */
  settle?(): boolean | Promise<boolean>;
}

export const codeOf = (error: unknown): string => (error instanceof AssayError ? error.code : '');

/** Whether an error may come of the faults of the disk. */
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
