/** Who reads a receipt over HTTP, on both servers, over a real store. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '../../src/accounts/keys.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { RECEIPT_KINDS, type ReceiptKind } from '../../src/receipts/kinds.ts';
import { receiptHash } from '../../src/receipts/receipt.ts';
import { createReceipts } from '../../src/receipts/receipts.ts';
import type { ReceiptStore } from '../../src/receipts/store.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { NOW_MS, receiptWith, storeAt, textsOf } from '../receipts/world.ts';
import { openWorld, type World } from './world.ts';

const rateLimits = { entity: 10_000 };
const idOf = (kind: ReceiptKind): string =>
  `01kaq2z8g0${String(RECEIPT_KINDS.indexOf(kind)).padStart(16, '0')}`;

describe.each(['uws', 'node'] as const)('receipts on %s', (backend) => {
  const folder = tempFolder();
  let store: ReceiptStore;
  let world: World;

  beforeAll(async () => {
    store = storeAt(join(folder.path, 'receipts.mdb'), systemClock);
    const receipts = createReceipts(
      { softwareVersion: '1.0.0' },
      {
        store,
        policy: loadPolicy(loadTaxonomy().rows),
        lists: () => [],
        issuer: () => 'urn:assay:test',
        log: () => ({ append: async () => [] }),
        verdictKey: () => Promise.reject(new Error('unused')),
        clock: systemClock,
        random: systemRandom,
      },
    );
    world = await openWorld({ backend, useCases: { receipts: () => receipts } });
    for (const kind of RECEIPT_KINDS) {
      const receipt = receiptWith({ id: idOf(kind), kind });
      const content = { receipt, evidence: { kind }, policy: { version: '2026-11' } };
      const row = { id: receipt.id, accountId: 'acc', kind, issuedTo: 'key_ann', kid: 'kid' };
      const times = { issuedAtMs: NOW_MS, expiresAtMs: NOW_MS + 900_000 };
      const sha256 = receiptHash(receipt).toString('hex');
      await store.prepare({ ...row, ...times, sha256 }, textsOf(content))(Buffer.alloc(64, 7));
    }
  });
  afterAll(async () => {
    await world.close();
    await store.close();
    folder.remove();
  });

  /** Returns the kinds of which a key reads the receipt, and the statuses of the others. */
  async function readBy(accountId: string, permissions: readonly Permission[]) {
    const key = await world.key({ accountId, rateLimits, permissions });
    const kinds: ReceiptKind[] = [];
    const refused = new Set<number>();
    for (const kind of RECEIPT_KINDS) {
      const response = await fetch(`${world.url}/api/v1/receipts/${idOf(kind)}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      if (response.status === 200) kinds.push(kind);
      else refused.add(response.status);
    }
    return { kinds, refused: [...refused] };
  }

  it('are read by keys that may request such an answer', async () => {
    const { kinds } = await readBy('acc', ['screening', 'kyt', 'oracle', 'intel']);
    expect(kinds).toEqual(['SCREENING', 'KYT', 'ORACLE', 'SANCTIONS', 'NAMES', 'BULK']);
    const byScreening = await readBy('acc', ['screening']);
    expect(byScreening).toEqual({ kinds: ['SCREENING', 'KYT', 'NAMES', 'BULK'], refused: [404] });
    expect(await readBy('acc', ['kyt'])).toEqual({ kinds: ['KYT', 'BULK'], refused: [404] });
    expect(await readBy('acc', ['oracle'])).toEqual({ kinds: ['ORACLE'], refused: [404] });
    expect(await readBy('acc', ['intel'])).toEqual({ kinds: ['SANCTIONS', 'BULK'], refused: [404] });
  });

  it('are not read by keys of other permissions, or of another account', async () => {
    expect(await readBy('acc', ['entity', 'monitoring'])).toEqual({ kinds: [], refused: [403] });
    expect(await readBy('other', ['screening', 'kyt', 'oracle', 'intel'])).toEqual({
      kinds: [],
      refused: [404],
    });
  });
});
