/** Batches of the oracle: each answer gets a line at once, and its proof when the batch is signed and stored. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyLine } from '../../sdk/typescript/src/receipt-proofs.ts';
import { verifyReceipt } from '../../sdk/typescript/src/receipts.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { ReceiptBatches } from '../../src/receipts/batches.ts';
import { jwksOf } from '../../src/receipts/keys.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';
import { receiptHash } from '../../src/receipts/receipt.ts';
import { createReceipts } from '../../src/receipts/receipts.ts';
import { replay } from '../../src/receipts/replay.ts';
import type { ClosedBatch, Receipts } from '../../src/receipts/service.ts';
import type { ReceiptStore } from '../../src/receipts/store.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { storeAt } from './world.ts';

let folder: TempFolder;
let store: ReceiptStore;
let receipts: Receipts;
let logged: string[];
let isFull = false;
beforeEach(() => {
  folder = tempFolder();
  store = storeAt(join(folder.path, 'receipts.mdb'), { now: Date.now });
  logged = [];
  isFull = false;
  receipts = createReceipts(
    { softwareVersion: '1.0.0' },
    {
      store,
      policy: loadPolicy(loadTaxonomy().rows),
      lists: () => [],
      issuer: () => 'urn:assay:test',
      log: () => ({
        async append(entries) {
          if (isFull) throw new Error('the disk is full');
          for (const { hash } of entries) {
            const digest = Buffer.from(hash).toString('hex');
            // As the log, which has an id once.
            if (!logged.includes(digest)) logged.push(digest);
          }
          return [];
        },
      }),
      verdictKey: () => Promise.reject(new Error('unused')),
      clock: systemClock,
      random: systemRandom,
    },
  );
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

const open = (): ReceiptBatches =>
  new ReceiptBatches({
    receipts: () => receipts,
    ...{ clock: systemClock, random: systemRandom, log: silentLogger },
  });

interface Answer {
  readonly address: string;
  readonly batch: { readonly id: string; readonly line: number; readonly salt: string };
}

/** Adds an answer as the oracle writes it, and returns it as a client parses it. */
function add(batches: ReceiptBatches, text: string, size = 4_096): Answer | null {
  const out = Buffer.alloc(size);
  const end = batches.write(out, 3, 3 + out.write(text, 3));
  return end < 0 ? null : (JSON.parse(out.toString('utf8', 3, end)) as Answer);
}

const answerOf = (n: number): string => `{"address":"0x${n}","verdict":"safe","name":"Zürich 😀"}`;

describe('a batch of answers', () => {
  it('is signed once, and proves each answer', async () => {
    const batches = open();
    const answers = Array.from({ length: 600 }, (_, n) => add(batches, answerOf(n)));
    await batches.stop();
    expect(new Set(answers.map((answer) => answer?.batch.id)).size).toBe(1);
    const jwks = jwksOf(store.keys.list());
    expect(logged).toHaveLength(1);
    for (const n of [0, 1, 255, 256, 511, 512, 599]) {
      const { batch, ...rest } = answers[n] as Answer;
      const proof = await receipts.batchProof(batch.id, batch.line);
      const receipt = await verifyReceipt(proof.receipt.jws, jwks as never, { allowExpired: true });
      expect(receipt).toMatchObject({ kind: 'BATCH', id: batch.id, lines: { count: 600 } });
      const line = { ...proof, salt: batch.salt, text: JSON.stringify(rest) };
      await verifyLine(receipt, line);
      await expect(verifyLine(receipt, { ...line, text: answerOf(n + 1) })).rejects.toThrow('does not bind');
    }
    const [first] = answers as readonly Answer[];
    const { content } = receipts.one(first?.batch.id ?? '');
    expect(logged).toEqual([content === null ? '' : receiptHash(content.receipt).toString('hex')]);
    expect(content === null ? null : replay(content, '1.0.0')).toMatchObject({
      isEqual: true,
      isScored: false,
    });
    expect(() => receipts.one(first?.batch.id ?? '', 'acc_other')).toThrow('there is no receipt');
    await expect(receipts.batchProof(first?.batch.id ?? '', 600)).rejects.toThrow('no batch');
  });

  it('is not replayed with the evidence of another kind', async () => {
    const batches = open();
    const answer = add(batches, answerOf(1));
    await batches.stop();
    const { content } = receipts.one(answer?.batch.id ?? '');
    if (content === null) throw new Error('the batch has no content');
    for (const kind of ['NAMES', 'ORACLE', undefined])
      expect(() => replay({ ...content, evidence: { ...content.evidence, kind } }, '1.0.0')).toThrow(
        `evidence: must be of the kind BATCH (got ${JSON.stringify(kind)}).`,
      );
  });

  it('is replayed with the version of the program that wrote it', async () => {
    const batches = open();
    const answer = add(batches, answerOf(1));
    await batches.stop();
    const { content } = receipts.one(answer?.batch.id ?? '');
    if (content === null) throw new Error('the batch has no content');
    expect(['1.0.0', '2.0.0'].map((version) => replay(content, version).otherVersion)).toEqual([
      null,
      '1.0.0',
    ]);
  });

  it('closes after its time, and when it is full', async () => {
    const batches = open();
    const first = add(batches, answerOf(1));
    await expect
      .poll(async () => {
        const proof = await receipts.batchProof(first?.batch.id ?? '', 0).catch(() => null);
        return proof?.count ?? 0;
      })
      .toBe(1);
    const out = Buffer.alloc(1_024);
    const length = out.write(answerOf(2));
    for (let n = 0; n <= RECEIPT_LIMITS.batchLinesMax; n++) batches.write(out, 0, length);
    await batches.stop();
    expect(logged).toHaveLength(3);
  });

  it('adds nothing if the answer does not fit', async () => {
    const batches = open();
    expect(add(batches, answerOf(1), 100)).toBeNull();
    expect(add(batches, answerOf(1))?.batch.line).toBe(0);
    await batches.stop();
  });

  it('is kept until it can be stored, and then nothing more is promised', async () => {
    const stored: ClosedBatch[] = [];
    let fails = true;
    const batches = new ReceiptBatches({
      receipts: () => ({
        async issueBatch(batch) {
          if (fails) throw new Error('the disk is full');
          stored.push(batch);
        },
      }),
      ...{ clock: systemClock, random: systemRandom, log: silentLogger },
    });
    const out = Buffer.alloc(1_024);
    const length = out.write(answerOf(2));
    const all = RECEIPT_LIMITS.batchLinesMax * RECEIPT_LIMITS.batchesWaitingMax;
    for (let n = 0; n < all; n++) batches.write(out, 0, length);
    expect(() => batches.write(out, 0, length)).toThrow('cannot be stored');
    fails = false;
    await expect.poll(() => stored.length).toBe(RECEIPT_LIMITS.batchesWaitingMax);
    expect(batches.write(out, 0, length)).toBeGreaterThan(length);
    await batches.stop();
  });

  it('is tried once more when it stops, and not again', async () => {
    let tried = 0;
    const logged: unknown[] = [];
    const batches = new ReceiptBatches({
      receipts: () => ({
        async issueBatch() {
          tried++;
          throw new Error('the disk is full');
        },
      }),
      ...{ clock: systemClock, random: systemRandom },
      log: { ...silentLogger, error: (fields: unknown) => logged.push(fields) } as never,
    });
    const out = Buffer.alloc(1_024);
    batches.write(out, 0, out.write(answerOf(2)));
    await batches.stop();
    expect([tried, logged]).toEqual([1, [expect.objectContaining({ lines: 1, reason: 'the disk is full' })]]);
  });

  it('is erased with its leaves by the retention', async () => {
    const batches = open();
    const answer = add(batches, answerOf(1));
    await batches.stop();
    const { id = '' } = answer?.batch ?? {};
    expect(store.leaves(id, 0)).toHaveLength(32);
    await store.deleteIssuedBefore(Date.now() + 10_000, 50);
    expect(() => store.leaves(id, 0)).toThrow('has no leaves');
    await expect(receipts.batchProof(id, 0)).rejects.toThrow('no batch');
  });

  it('has no proof before it is in the log, into which it comes when the log is ready', async () => {
    isFull = true;
    const batches = open();
    const { id = '' } = add(batches, answerOf(1))?.batch ?? {};
    await expect.poll(() => store.get(id)).not.toBeNull();
    await expect(receipts.batchProof(id, 0)).rejects.toThrow('the disk is full');
    const signed = store.get(id)?.sha256;
    isFull = false;
    await expect.poll(() => logged).toEqual([signed]);
    expect((await receipts.batchProof(id, 0)).count).toBe(1);
    await batches.stop();
  });
});
