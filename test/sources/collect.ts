/** Runs a reader to its end and sorts the records that it yields. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DesignatedParty, FileHeader, Reject, SourceReader } from '../../src/sources/records.ts';

export interface Collected {
  readonly headers: FileHeader[];
  readonly parties: DesignatedParty[];
  readonly rejects: Reject[];
}

export async function collect(reader: SourceReader, ...files: readonly string[]): Promise<Collected> {
  const all: Collected = { headers: [], parties: [], rejects: [] };
  for await (const record of reader(files)) {
    if (record.type === 'header') all.headers.push(record);
    if (record.type === 'party') all.parties.push(record);
    if (record.type === 'reject') all.rejects.push(record);
  }
  return all;
}

/** Runs a body with a folder of its own and a function that writes files into it. */
export async function withFolder<Result>(
  body: (write: (name: string, content: string | Uint8Array) => string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-lists-'));
  try {
    return await body((name, content) => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
