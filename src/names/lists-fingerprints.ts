/**
 * Fingerprints of the content of every indexed entity: a file of sorted pairs (hash of list and id, hash of the content), read by
 * binary search. A cleared match holds as long as its entity has the content that was cleared.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { checksumOf, readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import type { NameEntity } from './name.ts';

export interface Fingerprints {
  /** Returns 16 hexadecimal digits that change with the entity; null if it is not in the index. */
  of(list: string, entityId: string): string | null;
}

const FILE = 'fingerprints.bin';
/**
 * The checksum of the file. It is a separate file, which readers of earlier versions ignore. Indexes of those versions have none.
 */
const SUM_FILE = 'fingerprints.json';
const KEY_BYTES = 8;
const PAIR_BYTES = 16;

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest().subarray(0, KEY_BYTES);

const keyOf = (list: string, entityId: string): Buffer => hashOf(`${list}\n${entityId}`);

/** Returns the hash of an entity's content, regardless of the order of its names, dates and countries. */
export function versionOf(entity: NameEntity): string {
  const { names, birthDates, countries, programs, schema, listedAt } = entity;
  const content = [
    schema,
    names.map((name) => `${name.kind}${name.weak ? ' weak ' : ' '}${name.text}`).sort(),
    [...birthDates].sort(),
    [...countries].sort(),
    [...programs].sort(),
    listedAt,
  ];
  return hashOf(JSON.stringify(content)).toString('hex');
}

/** Collects the fingerprints of entities: 16 bytes each. */
export class FingerprintWriter {
  private readonly pairs: Buffer[] = [];

  add(entity: NameEntity): void {
    this.pairs.push(
      Buffer.concat([keyOf(entity.list, entity.entityId), Buffer.from(versionOf(entity), 'hex')]),
    );
  }

  write(folder: string): void {
    const bytes = Buffer.concat(this.pairs.sort(Buffer.compare));
    writeFileSync(join(folder, FILE), bytes, { flush: true });
    writeJsonAtomically(join(folder, SUM_FILE), { checksum: checksumOf(bytes) } satisfies SumFile);
  }
}

function isWritten(folder: string, bytes: Buffer): boolean {
  const path = join(folder, SUM_FILE);
  return !existsSync(path) || (readJson(path) as SumFile).checksum === checksumOf(bytes);
}

interface SumFile {
  readonly checksum: string;
}

/**
 * Opens the fingerprints of an index.
 *
 * @throws STORE_CORRUPT if the file does not match its checksum.
 */
export function openFingerprints(folder: string): Fingerprints {
  const path = join(folder, FILE);
  const pairs = readFileSync(path);
  if (pairs.length % PAIR_BYTES !== 0 || !isWritten(folder, pairs))
    throw new AssayError(
      'STORE_CORRUPT',
      `${path} is damaged: it does not match its checksum. Run 'assay index build --force' to rebuild it.`,
    );
  return {
    of(list, entityId) {
      const key = keyOf(list, entityId);
      let low = 0;
      let high = pairs.length / PAIR_BYTES;
      while (low < high) {
        const middle = (low + high) >>> 1;
        const at = middle * PAIR_BYTES;
        const order = Buffer.compare(pairs.subarray(at, at + KEY_BYTES), key);
        if (order === 0) return pairs.toString('hex', at + KEY_BYTES, at + PAIR_BYTES);
        if (order < 0) low = middle + 1;
        else high = middle;
      }
      return null;
    },
  };
}
