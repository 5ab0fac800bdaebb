/** The rejects file of an import: every row that could not be used, its position and the reason, one JSON object per line. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { REJECTS_QUOTED } from '../sources/layout-error.ts';
import type { Provenance, Reject } from '../sources/records.ts';
import { LABEL_LIMITS } from './limits.ts';

export interface RejectsWriter {
  /** Number of rejected rows. */
  readonly count: number;
  /** The first rejected rows, for the error of a refused file. */
  readonly first: readonly Reject[];
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
    add(reason, text, provenance) {
      count++;
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
