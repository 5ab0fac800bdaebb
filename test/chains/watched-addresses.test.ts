/** The filter over all watched addresses, and the single reading of a block for all parts that watch some. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AddressFilter } from '../../src/chains/address-filter.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { type AddressOwner, WatchedAddresses } from '../../src/chains/watched-addresses.ts';

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;

function blockOf(pairs: readonly (readonly [string | null, string | null])[]): Block {
  const transfers = pairs.map(
    ([from, to], at): Transfer => ({
      ...{ chain: 'ETH', txHash: `0x${at}`, position: 'value', blockNumber: 1, timestampMs: 0, from, to },
      ...{ asset: 'ETH', amount: 1n, decimals: 18, valueUsd: null },
    }),
  );
  return { chain: 'ETH', height: 1, hash: 'b1', parentHash: null, timestampMs: 0, transfers };
}

/** A part that watches a set of addresses, and counts the transfers that it is asked about. */
function partOf(addresses: WatchedAddresses, watchesSenders: boolean) {
  const own = new Set<string>();
  const part = {
    watchesSenders,
    asked: 0,
    get size() {
      return own.size;
    },
    ends: () => own.values(),
    watches({ from, to }: Transfer) {
      part.asked++;
      return own.has(to ?? '') || (watchesSenders && own.has(from ?? ''));
    },
    add(one: string) {
      own.add(one);
      addresses.added(part, one);
    },
    remove(one: string) {
      if (own.delete(one)) addresses.removed();
    },
    found: (block: Block) => addresses.found(part, block).map(({ txHash }) => Number(txHash)),
    expected: (block: Block) =>
      block.transfers.flatMap(({ from, to }, at) =>
        own.has(to ?? '') || (watchesSenders && own.has(from ?? '')) ? [at] : [],
      ),
  } satisfies AddressOwner & Record<string, unknown>;
  addresses.register(part);
  return part;
}

describe('a filter over addresses', () => {
  it('lets each added address pass in any letter case, and few others', () => {
    const filter = new AddressFilter(10, 1);
    const hashed = (n: number): string => `0x${(n * 2_654_435_761).toString(16).padStart(40, 'a')}`;
    for (let n = 1; n <= 100; n++) filter.add(hashed(n));
    for (let n = 1; n <= 100; n++) {
      expect(filter.passes(hashed(n))).toBe(true);
      expect(filter.passes(hashed(n).toUpperCase())).toBe(true);
    }
    let passed = 0;
    for (let n = 1_001; n <= 11_000; n++) if (filter.passes(hashed(n))) passed++;
    expect(passed).toBeLessThan(500);
    filter.removed(100, 0, () => []);
    expect(filter.passes(hashed(1))).toBe(false);
    expect(filter.passes('0x1')).toBe(true);
  });
});

describe('watched addresses', () => {
  it('finds the transfers of each part, in their order, between additions and removals', () => {
    const place = fc.option(fc.nat(12).map(address));
    const change = fc.record({ part: fc.nat(1), add: fc.boolean(), one: fc.nat(12).map(address) });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(place, place), { maxLength: 20 }),
        fc.array(change, { maxLength: 20 }),
        (pairs, changes) => {
          const addresses = new WatchedAddresses();
          const parts = [partOf(addresses, true), partOf(addresses, false)] as const;
          const block = blockOf(pairs);
          for (const { part, add, one } of changes) {
            parts[part as 0 | 1][add ? 'add' : 'remove'](one);
            // What was removed since the block was read is found until it is read again: the part knows.
            const fresh = { ...block };
            for (const each of parts) {
              expect(each.found(fresh)).toEqual(each.expected(fresh));
              expect(each.found(block)).toEqual(expect.arrayContaining(each.expected(block)));
            }
          }
        },
      ),
    );
  });

  it('reads a block once for all parts, and again only after an address was added', () => {
    const addresses = new WatchedAddresses();
    const [wallets, invoices] = [partOf(addresses, true), partOf(addresses, false)];
    wallets.add(address(1));
    invoices.add(address(2));
    const block = blockOf([
      [address(1), address(2)],
      [address(7), address(8)],
    ]);
    let reads = 0;
    const [first] = block.transfers as [Transfer, Transfer];
    const { to } = first;
    Object.defineProperty(first, 'to', {
      get() {
        reads++;
        return to;
      },
    });
    expect(wallets.found(block)).toEqual([0]);
    const once = reads;
    expect(once).toBeGreaterThan(0);
    expect(invoices.found(block)).toEqual([0]);
    expect(wallets.found(block)).toEqual([0]);
    expect(reads).toBe(once);
    invoices.add(address(8));
    expect(invoices.found(block)).toEqual([0, 1]);
    expect(reads).toBeGreaterThan(once);
  });

  it('reads senders only for a part that watches them', () => {
    const addresses = new WatchedAddresses();
    const invoices = partOf(addresses, false);
    invoices.add(address(1));
    const pairs = [[address(1), address(5)]] as const;
    expect(invoices.found(blockOf(pairs))).toEqual([]);
    expect(invoices.asked).toBe(0);
    const wallets = partOf(addresses, true);
    wallets.add(address(9));
    expect(invoices.found(blockOf(pairs))).toEqual([]);
    expect(invoices.asked).toBe(1);
    addresses.release(wallets);
    expect(invoices.found(blockOf(pairs))).toEqual([]);
    expect(invoices.asked).toBe(1);
  });

  it('forgets removed addresses when there are more of them than of watched ones', () => {
    const addresses = new WatchedAddresses();
    const [wallets, invoices] = [partOf(addresses, true), partOf(addresses, false)];
    wallets.add(address(1));
    for (let n = 100; n < 70_100; n++) invoices.add(address(n));
    const block = blockOf([
      [null, address(1)],
      [null, address(200)],
    ]);
    for (let n = 100; n < 65_000; n++) invoices.remove(address(n));
    wallets.asked = 0;
    expect(wallets.found({ ...block })).toEqual([0]);
    expect(wallets.asked).toBe(2);
    for (let n = 65_000; n < 70_100; n++) invoices.remove(address(n));
    wallets.asked = 0;
    expect(wallets.found({ ...block })).toEqual([0]);
    expect(wallets.asked).toBe(1);
  });
});
