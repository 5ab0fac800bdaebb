/** The store of receipts and its keys, over both kinds of live state. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';
import { receiptHash } from '../../src/receipts/receipt.ts';
import type {
  NewStoredReceipt,
  PartHashes,
  ReceiptContent,
  ReceiptStore,
  StoredReceipt,
} from '../../src/receipts/store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { signingKeysConformance } from '../conformance/signing-keys.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { NOW_MS, receiptWith, storeAt, textsOf } from './world.ts';

const DAY_MS = 86_400_000;
const SIGNATURE = Buffer.alloc(64, 7);
const SIGNATURE_TEXT = SIGNATURE.toString('base64url');

const idAt = (number: number): string => `01kaq2z8g0${String(number).padStart(16, '0')}`;

const contentWith = (number: number, labels: unknown = [[]]): ReceiptContent => ({
  receipt: receiptWith({ id: idAt(number) }),
  evidence: { kind: 'ORACLE', labels, entry: { number } },
  policy: { version: '2026-11', weights: { MIXER: 80 } },
});

const rowOf = ({ receipt }: ReceiptContent): NewStoredReceipt => ({
  id: receipt.id,
  accountId: 'a',
  kind: 'ORACLE',
  issuedTo: 'key_ann',
  issuedAtMs: NOW_MS,
  expiresAtMs: NOW_MS,
  sha256: receiptHash(receipt).toString('hex'),
  kid: 'kid',
});

overLiveStates((makeState) => {
  let folder: TempFolder;
  let state: LiveState;
  let store: ReceiptStore;
  let nowMs = NOW_MS;
  const open = () => storeAt(`${folder.path}/receipts.mdb`, { now: () => nowMs }, state.openStore);

  beforeEach(async () => {
    nowMs = NOW_MS;
    folder = tempFolder();
    state = makeState();
    store = open();
    await state.ready();
  });
  afterEach(async () => {
    await store.close();
    await state.close();
    folder.remove();
  });

  const add = async (
    number: number,
    { labels, issuedAtMs = NOW_MS }: { labels?: unknown; issuedAtMs?: number } = {},
  ) => {
    const content = contentWith(number, labels);
    const storeSigned = store.prepare(
      { ...rowOf(content), issuedAtMs, expiresAtMs: issuedAtMs + 900_000 },
      textsOf(content),
    );
    await storeSigned(SIGNATURE);
    return store.get(idAt(number)) as StoredReceipt;
  };

  describe('the store of receipts', () => {
    it('returns a receipt with its evidence, to its own account only', async () => {
      await add(1, { labels: [[{ category: 'MIXER', confidence: 0.9 }]] });
      const row = store.get(idAt(1), 'a');
      expect(row).toMatchObject({ id: idAt(1), accountId: 'a', erasedAtMs: null });
      expect(row && store.content(row)).toEqual(contentWith(1, [[{ category: 'MIXER', confidence: 0.9 }]]));
      expect(store.get(idAt(1), 'b')).toBeNull();
      expect(store.get('../x', 'a')).toBeNull();
    });

    it('stores the parts that receipts share once', async () => {
      await add(1, { labels: [['same']] });
      // What one receipt has is in its own record.
      const { parts: first } = store.bytes();
      await add(2, { labels: [['same']] });
      const { parts, own } = store.bytes();
      expect(parts).toBeGreaterThan(first);
      for (let number = 3; number <= 20; number++) await add(number, { labels: [['same']] });
      const after = store.bytes();
      expect(after.receipts).toBe(20);
      expect(after.parts).toBe(parts);
      expect(after.own).toBeGreaterThan(own * 7);
      await add(21, { labels: [['other']] });
      expect(store.bytes().parts).toBe(parts);
      await add(22, { labels: [['x'.repeat(RECEIPT_LIMITS.groupedLabelsMax)]] });
      expect(store.bytes().parts).toBeGreaterThan(parts);
    });

    it('stores receipts of the same time in one record, and reads, erases and deletes each of them', async () => {
      const count = 150;
      const rows = await Promise.all(
        Array.from({ length: count }, (_, at) => add(at + 1, { labels: [[`label ${at % 3}`]] })),
      );
      const { own, receipts, parts } = store.bytes();
      expect(receipts).toBe(count);
      await add(count + 1);
      expect(own / count).toBeLessThan((store.bytes().own - own) / 1.5);
      for (const [at, row] of rows.entries()) {
        expect(store.get(row.id)).toEqual(row);
        expect(store.content(row)).toEqual(contentWith(at + 1, [[`label ${at % 3}`]]));
      }
      const [, second, third] = rows;
      nowMs += 5_000;
      const erased = await store.erase(second!.id);
      expect(erased).toMatchObject({ sha256: second!.sha256, signature: SIGNATURE_TEXT, erasedAtMs: nowMs });
      expect(store.get(second!.id)).toEqual(erased);
      expect(store.content(erased!)).toBeNull();
      expect(store.content(third!)).toEqual(contentWith(3, [['label 2']]));
      expect(store.get(third!.id, 'b')).toBeNull();
      let deleted = 0;
      for (let size = 10; size >= 10; deleted += size)
        size = (await store.deleteIssuedBefore(NOW_MS + 1, 10)).length;
      expect(deleted).toBe(count + 1);
      expect(store.get(third!.id)).toBeNull();
      // Parts are used on this day.
      expect(store.bytes()).toMatchObject({ receipts: 0, own: 0 });
      expect(store.bytes().parts).toBeGreaterThanOrEqual(parts);
    });

    it('keeps evidence that needs many records', async () => {
      const labels = [
        Array.from({ length: 20_000 }, (_, at) => `label ${(at * 7919) % 99_991} of ${at * at}`),
      ];
      await add(1, { labels });
      const row = store.get(idAt(1));
      expect(row && store.content(row)?.evidence.labels).toEqual(labels);
    });

    it('refuses evidence above its limit, and stores nothing of it', async () => {
      const labels = ['x'.repeat(RECEIPT_LIMITS.evidenceBytesMax)];
      await expect(add(1, { labels })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      expect(store.get(idAt(1))).toBeNull();
    });

    it('keeps labels of exactly the limit, and none of a byte more', async () => {
      // The brackets and the quotation marks of the text.
      const most = RECEIPT_LIMITS.evidenceBytesMax - 4;
      await add(1, { labels: ['x'.repeat(most)] });
      const row = store.get(idAt(1));
      expect(row && store.content(row)?.evidence.labels).toEqual(['x'.repeat(most)]);
      await expect(add(2, { labels: ['x'.repeat(most + 1)] })).rejects.toThrow('are stored');
    });

    it('erases the content of a receipt and keeps its hash', async () => {
      const { sha256 } = await add(1);
      await add(2);
      nowMs += 5_000;
      const erased = await store.erase(idAt(1));
      expect(erased).toMatchObject({ sha256, erasedAtMs: nowMs, parts: {}, storedBytes: 0 });
      nowMs += 5_000;
      expect(await store.erase(idAt(1))).toEqual(erased);
      const row = store.get(idAt(1));
      expect(row && store.content(row)).toBeNull();
      const other = store.get(idAt(2));
      expect(other && store.content(other)).toEqual(contentWith(2));
      expect(await store.erase(idAt(3))).toBeNull();
    });

    it('deletes what is due, and shared parts only when no later receipt uses them', async () => {
      // So large that they are parts from the first receipt on.
      const [old, both] = ['o', 'b'].map((name) => [name.repeat(RECEIPT_LIMITS.groupedLabelsMax)]);
      await add(1, { labels: old, issuedAtMs: NOW_MS - 9 * DAY_MS });
      await add(2, { labels: both, issuedAtMs: NOW_MS - 8 * DAY_MS });
      await add(3, { labels: both, issuedAtMs: NOW_MS });
      const before = store.bytes();
      const deleted = await store.deleteIssuedBefore(NOW_MS - 5 * DAY_MS, 1);
      expect(deleted.map(({ id }) => id)).toEqual([idAt(1)]);
      // Receipts first: one that is still there needs its parts.
      expect(store.bytes().parts).toBe(before.parts);
      expect((await store.deleteIssuedBefore(NOW_MS - 5 * DAY_MS, 5)).map(({ id }) => id)).toEqual([idAt(2)]);
      expect(await store.deleteIssuedBefore(NOW_MS - 5 * DAY_MS, 5)).toEqual([]);
      expect(store.get(idAt(1))).toBeNull();
      const row = store.get(idAt(3));
      expect(row && store.content(row)?.evidence.labels).toEqual(both);
      expect(store.bytes().parts).toBeLessThan(before.parts);
    });

    it('deletes more parts than one transaction holds', async () => {
      for (let number = 1; number <= 12; number++)
        await add(number, { labels: [`part ${number}`], issuedAtMs: NOW_MS - 9 * DAY_MS });
      while ((await store.deleteIssuedBefore(NOW_MS, 5)).length === 5);
      expect(store.bytes()).toEqual({ receipts: 0, own: 0, parts: 0 });
    });
  });

  describe('the keys of receipts', () => {
    signingKeysConformance(async () => ({
      keys: store.keys,
      again: async () => {
        await store.close();
        store = open();
        await state.ready();
        return store.keys;
      },
      get now() {
        return nowMs;
      },
      set now(ms) {
        nowMs = ms;
      },
      dispose: async () => {},
    }));
  });
});

describe('receipts in a file', () => {
  it('are reported as damaged if their evidence was changed', async () => {
    const folder = tempFolder();
    const path = `${folder.path}/receipts.mdb`;
    const store = storeAt(path, { now: () => NOW_MS });
    const content = contentWith(1, [['label']]);
    await store.prepare(rowOf(content), textsOf(content))(SIGNATURE);
    const row = store.get(idAt(1)) as StoredReceipt;
    const swapped: PartHashes = { ...row.parts, coverage: row.parts.policy ?? '' };
    expect(() => store.content({ ...row, parts: swapped })).toThrow('is damaged');
    await store.close();
    folder.remove();
  });

  it('have no private key that can be read', async () => {
    const folder = tempFolder();
    const path = `${folder.path}/receipts.mdb`;
    const store = storeAt(path, { now: () => NOW_MS });
    await store.keys.active();
    await store.close();
    expect(readFileSync(path).includes('"d":"')).toBe(false);
    const root = openEnvironment(path, { maxDbs: 12, noSubdir: true });
    const rows = [...root.openDB({ name: 'signingKeys', encoding: 'json' }).getRange()];
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toMatch(/"d":/);
    await root.close();
    folder.remove();
  });
});
