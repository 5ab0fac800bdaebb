/** Collects the records that a source's reader yields, and builds the small files that tests of readers need. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { AttributedAddress, FileHeader, Reject, SourceReader } from '../../src/sources/records.ts';

export interface ReadSource {
  readonly addresses: AttributedAddress[];
  readonly rejects: Reject[];
  readonly headers: FileHeader[];
}

export async function readSource(reader: SourceReader, ...paths: string[]): Promise<ReadSource> {
  const read: ReadSource = { addresses: [], rejects: [], headers: [] };
  for await (const record of reader(paths)) {
    if (record.type === 'address') read.addresses.push(record);
    else if (record.type === 'reject') read.rejects.push(record);
    else if (record.type === 'header') read.headers.push(record);
    else throw new Error(`a ${record.type} was not expected`);
  }
  return read;
}

/** Makes a folder for each test. The returned function writes a file into it and returns its path. */
export function temporaryFiles(): (name: string, content: string | Uint8Array) => string {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-source-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return (name, content) => {
    const path = join(folder, basename(name));
    writeFileSync(path, content);
    return path;
  };
}
