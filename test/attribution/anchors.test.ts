import { afterEach, expect, it } from 'vitest';
import { readAnchors } from '../../src/attribution/deposit/anchors.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { type AttributionWorld, createAttributionWorld } from './world.ts';

const open: AttributionWorld[] = [];
afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

const address = (number: number): string => `0x${(number + 1).toString(16).padStart(40, '0')}`;
const [HOT, COLD, ROTATED, LISTED, ELSEWHERE] = [1, 2, 3, 4, 5].map(address) as [
  string,
  string,
  string,
  string,
  string,
];

let transaction = 0;
const pay = (from: string, to: string, amount = 10n ** 18n): Transfer => ({
  ...{ chain: 'ETH', txHash: `0x${(++transaction).toString(16).padStart(64, '0')}`, position: 'value' },
  ...{ blockNumber: 1_000 + transaction, timestampMs: 1_700_000_000_000 + transaction * 12_000 },
  ...{ from, to, asset: 'ETH', amount, decimals: 18, valueUsd: null },
});

const many = (count: number, make: (at: number) => Transfer): Transfer[] =>
  Array.from({ length: count }, (_, at) => make(at));

async function anchorsOf(transfers: readonly Transfer[], listed: readonly string[]) {
  const world = await createAttributionWorld(listed.map((one) => ({ address: one, entity: 'exchange-0' })));
  open.push(world);
  await world.transfers.ingest(transfers);
  const graph = world.transfers.graph('ETH');
  if (graph === null) throw new Error('No transfer is stored.');
  const { byNode, entities } = readAnchors('ETH', graph, world.labels);
  const names = new Map(listed.map((one) => [graph.idOf(parseAddress('ETH', one).key), one]));
  return { wallets: [...byNode.keys()].map((node) => names.get(node)), entities: entities.length };
}

/** Customers pay in through 40 deposit addresses, the first wallet pays out, and 12 payers fill an address that one customer was given. */
const exchange = (): Transfer[] => [
  ...many(40, (at) => pay(address(100 + at), HOT)),
  ...many(12, (at) => pay(HOT, address(200 + at))),
  ...many(12, (at) => pay(address(300 + at), LISTED)),
  pay(LISTED, HOT),
];

it('takes no address for a collecting wallet that only forwards to one', async () => {
  const { wallets, entities } = await anchorsOf(exchange(), [HOT, LISTED]);
  expect([wallets, entities]).toEqual([[HOT], 1]);
});

it('takes wallets that share deposit addresses with one that pays out', async () => {
  const rotated = many(12, (at) => pay(address(100 + at), ROTATED));
  const { wallets } = await anchorsOf(
    [...exchange(), ...rotated, pay(ROTATED, COLD)],
    [HOT, ROTATED, LISTED],
  );
  expect(new Set(wallets)).toEqual(new Set([HOT, ROTATED]));
});

it('takes no shared payer with many receivers for a deposit address', async () => {
  // Other exchanges pay both the wallets and the customers of this one.
  const hubs = many(4, (at) => pay(address(400 + at), HOT)).concat(
    many(4, (at) => pay(address(400 + at), LISTED)),
    many(4 * 70, (at) => pay(address(400 + (at % 4)), address(1_000 + at))),
  );
  expect((await anchorsOf([...exchange(), ...hubs], [HOT, LISTED])).wallets).toEqual([HOT]);
});

it('takes no wallet of an entity of which none pays out', async () => {
  const transfers = [...many(40, (at) => pay(address(100 + at), LISTED)), pay(LISTED, ELSEWHERE)];
  expect(await anchorsOf(transfers, [LISTED])).toEqual({ wallets: [], entities: 0 });
});
