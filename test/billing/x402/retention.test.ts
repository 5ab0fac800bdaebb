/** Records of payments by a signature that are deleted after their retention: what is finished, and nothing that somebody may still need. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Access, createAccess } from '../../../src/accounts/access.ts';
import { PAY_PER_CALL_ACCOUNT } from '../../../src/accounts/keys.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { X402_LIMITS } from '../../../src/billing/x402/limits.ts';
import {
  type AuthorizedPayment,
  type CallPayment,
  queued,
  type Transfer,
} from '../../../src/billing/x402/records.ts';
import { AuthorizedPayments } from '../../../src/billing/x402/store.ts';
import { verifyAuthorized } from '../../../src/billing/x402/verify.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { type LiveState, overLiveStates } from '../../setup/live-state.ts';

const DAY_MS = 86_400_000;
const NOW_MS = 2_000 * DAY_MS;
const BEFORE_MS = NOW_MS - X402_LIMITS.keptDays * DAY_MS;
const NO_INVOICES = { get: () => null };

overLiveStates((makeState) => {
  let folder: TempFolder;
  let state: LiveState;
  let access: Access;
  let store: AuthorizedPayments;
  beforeEach(async () => {
    folder = tempFolder();
    state = makeState();
    access = createAccess(
      { folder: join(folder.path, 'accounts') },
      { clock: systemClock, random: systemRandom, log: silentLogger },
    );
    store = new AuthorizedPayments(join(folder.path, 'authorized-payments.mdb'), state.openStore);
    await store.ready();
  });
  afterEach(async () => {
    await store.close();
    await access.close();
    await state.close();
    folder.remove();
  });

  const book = async (type: 'PURCHASE' | 'ADJUSTMENT', amount: number): Promise<string> =>
    (await access.ledger().book({ accountId: PAY_PER_CALL_ACCOUNT, type, amount, reference: 'test' })).entry
      .id;
  let count = 0;
  const settled: Partial<Transfer> = {
    ...{ state: 'SETTLED', isFinal: true },
    arrival: { transaction: '0xt', height: 1, blockHash: '0xb', settledAtMs: 1 },
  };
  /** Stores a call that was paid and answered long ago, with changes. */
  async function add(change: Partial<CallPayment> = {}, transfer: Partial<Transfer> = settled) {
    const key = `BASE 0xa 0xb 0x${++count}`;
    const createdAtMs = BEFORE_MS - 2 * DAY_MS;
    const payment: CallPayment = {
      ...{
        kind: 'call',
        key,
        chain: 'BASE',
        asset: '0xa',
        createdAtMs,
        credits: 1,
        identifier: `order_${count}`,
      },
      ...{ client: 'c', operation: 'screening', request: null, bookings: 1, servingAtMs: null },
      authorization: {
        ...{ from: '0xb', to: '0xd', value: '1', validAfter: '0', nonce: `0x${count}`, signature: '0x' },
        validBefore: String(createdAtMs / 1_000 + 300),
      },
      transfer: { ...queued(1), ...transfer },
      purchase: change.purchase === undefined ? await book('PURCHASE', 1) : change.purchase,
      served: null,
      ...change,
    };
    await store.change(key, () => payment);
    return payment;
  }
  const answered = async () => {
    const purchase = await book('PURCHASE', 1);
    return add({ purchase, served: { entryId: await book('ADJUSTMENT', -1), atMs: 1 } });
  };
  const keys = (payments: Iterable<AuthorizedPayment>): string[] =>
    [...payments].map(({ key }) => key).toSorted();
  const faults = async () => (await verifyAuthorized(store, access.ledger(), NO_INVOICES)).faults;

  it('deletes finished ones in parts, and the ledger is still explained', async () => {
    const done = [await answered(), await answered(), await answered()];
    const failed = await add({ purchase: null }, { state: 'FAILED', isFinal: true, reason: 'x' });
    expect(await faults()).toEqual([]);
    expect(await store.deleteBefore(BEFORE_MS, 2)).toHaveLength(2);
    expect(await store.deleteBefore(BEFORE_MS, 2)).toHaveLength(2);
    expect(await store.deleteBefore(BEFORE_MS, 2)).toEqual([]);
    expect([keys(store.all()), store.open('BASE'), store.unserved()]).toEqual([[], [], []]);
    for (const { identifier } of [...done, failed])
      expect(store.byIdentifier('0xb', identifier ?? '')).toBeNull();
    expect(await verifyAuthorized(store, access.ledger(), NO_INVOICES)).toMatchObject({
      ...{ calls: 0, deleted: 3, faults: [] },
    });
    // A purchase of no payment is still found, although others have none any more.
    await book('PURCHASE', 5);
    expect((await faults()).join()).toContain('4 purchases have no payment, and 3 payments were deleted');
  });

  it('finds a purchase that takes the place of a deleted one', async () => {
    const payment = await answered();
    await store.deleteBefore(BEFORE_MS, 10);
    expect(await faults()).toEqual([]);
    const forged = {
      deletedCalls: () => ({ purchases: 1, digest: 'ab'.repeat(32) }),
      all: () => store.all(),
    };
    const report = await verifyAuthorized(forged, access.ledger(), NO_INVOICES);
    expect(report.faults.join()).toContain('they are not those of the payments that were deleted');
    expect(store.get(payment.key)).toBeNull();
  });

  it('keeps what is paid and not answered, may still change, is young, or could still be used', async () => {
    const kept = [
      await add(),
      await add({ purchase: null }, { state: 'FAILED', isFinal: false, reason: 'x' }),
      await add({ purchase: null }, { state: 'QUEUED' }),
      // Answered, and removed by a reorg: an operator should see it.
      await add({ served: { entryId: null, atMs: 1 } }, { state: 'FAILED', isFinal: true, reason: 'x' }),
      await add({ served: { entryId: null, atMs: 1 } }, { ...settled, isFinal: false }),
      await add({ served: { entryId: null, atMs: 1 }, createdAtMs: BEFORE_MS + 1 }),
    ];
    const late = await answered();
    await store.change(late.key, () => ({
      ...late,
      authorization: { ...late.authorization, validBefore: String(BEFORE_MS / 1_000 + 1) },
    }));
    expect(await store.deleteBefore(BEFORE_MS, 100)).toEqual([]);
    expect(keys(store.all())).toEqual(keys([...kept, late]));
    // It is deleted as soon as it is finished.
    await store.change(kept[0]?.key ?? '', (one) => ({
      ...(one as CallPayment),
      served: { entryId: null, atMs: 1 },
    }));
    expect(keys(await store.deleteBefore(BEFORE_MS, 100))).toEqual([kept[0]?.key]);
  });
});
