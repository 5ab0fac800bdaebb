/** The rejects file of an import: every row that could not be used, its position and the reason, one JSON object per line. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { REJECTS_QUOTED } from '../sources/layout-error.ts';
import type { Provenance, Reject } from '../sources/records.ts';
import { LABEL_LIMITS } from './limits.ts';

/** How often a reason occurred, and where first. */
export interface RejectReason {
  readonly reason: string;
  readonly rows: number;
  readonly first: readonly { readonly file: string; readonly line: number; readonly text: string }[];
}

/** Example rows of a reason, and the characters of each: enough to find the fault in the file. */
const EXAMPLES_MAX = 3;
const EXAMPLE_CHARS = 120;
/** The reason of all rows with a reason beyond `rejectReasonsMax`. */
const MORE_REASONS = 'Other reasons: see the rejects file.';

/** Counts the reasons of rejected rows. Values that a reason quotes do not make it another reason. */
class Reasons {
  readonly #byReason = new Map<string, { rows: number; first: RejectReason['first'][number][] }>();

  add(reason: string, text: string, { file, line }: Provenance): void {
    const general = reason.replace(/ ?\((?:got )?'[^']*'\)/, '').replace(/^'[^']*'/, 'It');
    const isKnown = this.#byReason.has(general);
    const name = isKnown || this.#byReason.size < LABEL_LIMITS.rejectReasonsMax ? general : MORE_REASONS;
    const found = this.#byReason.get(name) ?? { rows: 0, first: [] };
    found.rows++;
    if (found.first.length < EXAMPLES_MAX)
      found.first.push({ file, line, text: text.slice(0, EXAMPLE_CHARS) });
    this.#byReason.set(name, found);
  }

  list(): readonly RejectReason[] {
    return [...this.#byReason]
      .map(([reason, { rows, first }]) => ({ reason, rows, first }))
      .sort((a, b) => b.rows - a.rows);
  }
}

export interface RejectsWriter {
  /** Number of rejected rows. */
  readonly count: number;
  /** The first rejected rows, for the error of a refused file. */
  readonly first: readonly Reject[];
  /** The reasons with their counts and first rows, most frequent first. */
  readonly reasons: readonly RejectReason[];
  add(reason: string, text: string, provenance: Provenance): void;
  /** Moves the file to `path` and returns its path. If nothing was rejected, removes an older file and returns null. */
  close(path: string): string | null;
  abort(): void;
}

const FLUSH_CHARS = 1 << 16;

/** Creates a rejects writer, which writes to `partial` until it is closed. Beyond `rejectsKeptMax`, rows are only counted. */
export function createRejectsWriter(partial: string): RejectsWriter {
  let file: number | null = null;
  let pending = '';
  let count = 0;
  const first: Reject[] = [];
  const reasons = new Reasons();

  function flush(): void {
    if (file === null || pending === '') return;
    const bytes = Buffer.from(pending);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    pending = '';
  }

  function finish(): boolean {
    if (file === null) return false;
    flush();
    fsyncSync(file);
    closeSync(file);
    file = null;
    return true;
  }

  return {
    get count() {
      return count;
    },
    first,
    get reasons() {
      return reasons.list();
    },
    add(reason, text, provenance) {
      count++;
      reasons.add(reason, text, provenance);
      if (first.length < REJECTS_QUOTED) first.push({ type: 'reject', reason, text, provenance });
      if (count > LABEL_LIMITS.rejectsKeptMax) return;
      if (file === null) {
        file = openSync(partial, 'w');
      }
      pending += `${JSON.stringify({ file: provenance.file, line: provenance.line, reason, text: text.slice(0, 500) })}\n`;
      if (pending.length >= FLUSH_CHARS) flush();
    },
    close(path) {
      if (count > LABEL_LIMITS.rejectsKeptMax)
        pending += `${JSON.stringify({ reason: `${count - LABEL_LIMITS.rejectsKeptMax} more were only counted.` })}\n`;
      if (finish()) {
        mkdirSync(dirname(path), { recursive: true });
        renameSync(partial, path);
        return path;
      }
      rmSync(path, { force: true });
      return null;
    },
    abort() {
      finish();
      rmSync(partial, { force: true });
    },
  };
}
