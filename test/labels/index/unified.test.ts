/** A unified address of Zcash is looked up with the account that its transparent receiver names. */
import { bech32m } from '@scure/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatAddressKey, parseAddress } from '../../../src/chains/address/parse.ts';
import { buildSnapshot } from '../../../src/labels/index/build.ts';
import { currentSnapshot } from '../../../src/labels/index/folder.ts';
import { type LabelReader, NOT_LABELLED } from '../../../src/labels/index/reader.ts';
import { openSnapshotClosable } from '../../../src/labels/index/snapshot.ts';
import type { Label } from '../../../src/labels/label.ts';
import { byConfidence, deps, sanction, source, template, temporaryFolder, writeSegment } from './world.ts';

const ZEC_KEY = 6;
const UNIFIED_KIND = 10;
const P2PKH = 0;
const P2SH = 1;

const hash = (seed: number): Uint8Array => new Uint8Array(20).map((_, at) => seed + at);
const transparent = (type: number, seed: number): Uint8Array =>
  Uint8Array.of(ZEC_KEY, type + 1, ...hash(seed));
const orchard = Uint8Array.of(3, 43, ...new Uint8Array(43).fill(7));
/** The text of a unified address with an Orchard receiver and, if `type` is given, a transparent one. */
const unified = (seed: number, type: number | null): string =>
  formatAddressKey(
    Uint8Array.of(
      ZEC_KEY,
      UNIFIED_KIND,
      ...(type === null ? [] : [type, 20, ...hash(seed)]),
      ...orchard,
      ...(type === null ? [9, 2, seed, seed] : []),
    ),
    'ZEC',
  );
const keyOf = (text: string): Uint8Array => parseAddress('ZEC', text).key;

const SANCTIONED = 1;
const LABELLED = 40;
const BOTH = 80;
const SANCTIONED_BOTH = 120;
const UNKNOWN = 160;

const folder = temporaryFolder();
afterAll(() => folder.remove());
beforeAll(async () => {
  const zec = { scope: 'ZEC' as const };
  const listed = template('Listed', { ...zec, category: 'SANCTIONED_ENTITY', sanctions: [sanction] });
  const rows = [
    { key: transparent(P2PKH, SANCTIONED), template: listed },
    { key: transparent(P2SH, LABELLED), template: template('Shop', zec) },
    { key: transparent(P2PKH, BOTH), template: template('Exchange', zec) },
    { key: keyOf(unified(BOTH, P2PKH)), template: template('Own label', zec) },
    { key: transparent(P2PKH, SANCTIONED_BOTH), template: listed },
    { key: keyOf(unified(SANCTIONED_BOTH, P2PKH)), template: template('Own label', zec) },
    ...Array.from({ length: 60 }, (_, at) => ({
      key: Uint8Array.of(1, 1, ...hash(at)),
      template: template('Other'),
    })),
  ];
  await writeSegment(`${folder.path}/segment`, rows);
});

async function open(partitionLabels: number): Promise<{ reader: LabelReader; close(): void }> {
  const path = `${folder.path}/of-${partitionLabels}`;
  await buildSnapshot(
    {
      segments: [{ path: `${folder.path}/segment`, source: source('one') }],
      folder: path,
      compareLabels: byConfidence,
      partitionLabels,
    },
    deps,
  );
  const { reader, close } = openSnapshotClosable(currentSnapshot(path) as string);
  return { reader, close };
}

describe.each([1_000, 20])('an index with partitions of %s labels', (partitionLabels) => {
  let reader: LabelReader;
  let close: () => void;
  beforeAll(async () => {
    ({ reader, close } = await open(partitionLabels));
  });
  afterAll(() => close());

  const CASES = [
    ['a sanctioned transparent receiver', unified(SANCTIONED, P2PKH), ['Listed'], true],
    ['a labelled script as transparent receiver', unified(LABELLED, P2SH), ['Shop'], false],
    ['the same hash as another kind of receiver', unified(LABELLED, P2PKH), [], false],
    ['a label of its own, which precedes that of the receiver', unified(BOTH, P2PKH), ['Own label'], false],
    ['a label of its own, which a sanction precedes', unified(SANCTIONED_BOTH, P2PKH), ['Listed'], true],
    ['an unknown transparent receiver', unified(UNKNOWN, P2PKH), [], false],
    ['shielded receivers only', unified(SANCTIONED, null), [], false],
  ] as const;

  it.each(CASES)('finds an address with %s', (_, text, names, isSanctioned) => {
    const key = keyOf(text);
    const handle = reader.find(key, 0, key.length);
    const namesOf = (labels: readonly Label[]): string[] => labels.map(({ entity }) => entity.name);
    expect(namesOf(reader.labels(handle, 'ZEC'))).toEqual(names);
    expect(namesOf(reader.lookup(key, 'ZEC'))).toEqual(names);
    expect(reader.isSanctioned(handle, 'ZEC')).toBe(isSanctioned);
    expect(handle === NOT_LABELLED).toBe(names.length === 0);
    expect(parseAddress('ZEC', text)).toMatchObject({ canonical: text, kind: 'unified' });
  });

  it('finds the same in blocks', () => {
    const keys = [...CASES.map(([, text]) => keyOf(text)), transparent(P2PKH, SANCTIONED)];
    const bytes = Buffer.concat(keys);
    const offsets = new Int32Array(keys.length);
    for (let at = 1; at < keys.length; at++)
      offsets[at] = (offsets[at - 1] as number) + (keys[at - 1] as Uint8Array).length;
    const handles = new Float64Array(keys.length);
    reader.findMany(
      bytes,
      offsets,
      Int32Array.from(keys, (key) => key.length),
      keys.length,
      handles,
    );
    expect([...handles]).toEqual(keys.map((key) => reader.find(key, 0, key.length)));
  });
});

it('reads a TEX address as the account of its transparent address', () => {
  const text = bech32m.encode('tex', bech32m.toWords(hash(SANCTIONED)));
  expect(keyOf(text)).toEqual(transparent(P2PKH, SANCTIONED));
});
