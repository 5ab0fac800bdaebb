/** Search of a transaction: which chains, which transfers, and what is known of both sides. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { hashReadings } from '../../src/chains/transaction-hash.ts';
import type { TransferReader } from '../../src/graph/transfers.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createChainTransaction } from '../../src/screening/transaction.ts';
import type { TransactionSearch } from '../../src/screening/transaction-answers.ts';
import { createTransactionSearch } from '../../src/screening/transaction-search.ts';
import { BTC_WALLET, createWorld, NOW, sent, WALLETS, type World } from './world.ts';

const HEX = 'ab'.repeat(32);

describe('the forms of a hash', () => {
  const chains = (text: string): readonly string[] => hashReadings(text).map(({ chain }) => chain);

  it('name the chains on which it can be one, in the form of each', () => {
    const readings = hashReadings(`0x${HEX.toUpperCase()}`);
    const textsOn = (chain: string) => readings.find((reading) => reading.chain === chain)?.texts;
    const [lower, upper] = [HEX, HEX.toUpperCase()];
    expect([textsOn('ETH'), textsOn('BTC'), textsOn('XRP'), textsOn('DOT')]).toEqual([
      [`0x${lower}`],
      [lower, upper, `0x${lower}`, `0x${upper}`],
      [upper, lower, `0x${lower}`, `0x${upper}`],
      [`0x${lower}`, lower, upper],
    ]);
    expect(chains(HEX)).toEqual(expect.arrayContaining(['ETH', 'BASE', 'BTC', 'TRON', 'ATOM', 'TON']));
    expect(chains('5'.repeat(88))).toEqual(['SOL']);
    expect(chains('Q'.repeat(52))).toEqual(['ALGO']);
    expect(chains(`o${'o'.repeat(50)}`)).toEqual(['XTZ']);
    expect(hashReadings(`${Buffer.alloc(32, 0xab).toString('base64')}`)).toEqual([
      { chain: 'TON', texts: [HEX] },
    ]);
  });

  it.each(['', '0x', HEX.slice(1), `${HEX}0`, '<script>', 'Ann Lee', WALLETS.payer])('exclude %j', (text) => {
    expect(chains(text)).toEqual([]);
  });
});

describe('the search of a transaction', () => {
  let world: World;
  const search = (transfers?: Partial<TransferReader>) => {
    const deps =
      transfers === undefined
        ? world.deps
        : { ...world.deps, transfers: { ...world.deps.transfers, ...transfers } };
    return createChainTransaction(deps, createAssessor(deps));
  };
  const find = (hash: string, chain?: string, on = search()) =>
    createTransactionSearch({
      clock: { now: () => NOW },
      search: async (request) => ({ json: Buffer.from(JSON.stringify(on(request))) }),
    })({ hash, chain });

  beforeAll(async () => {
    world = await createWorld();
    const many = { txHash: `0x${HEX}`, timestampMs: NOW, blockNumber: 900 };
    await world.transfers.ingest([
      sent(1, WALLETS.sanctioned, WALLETS.exchange, many),
      sent(1, WALLETS.sanctioned, WALLETS.unknown, {
        ...many,
        position: 'log:1',
        asset: WALLETS.contract,
        valueUsd: null,
      }),
      { ...sent(1, WALLETS.unknown, WALLETS.exchange, many), from: null, position: 'log:2' },
      { ...sent(1, WALLETS.payer, WALLETS.exchange, many), chain: 'BASE' },
      { ...sent(1, BTC_WALLET, BTC_WALLET, many), chain: 'BTC', txHash: HEX, asset: 'BTC', decimals: 8 },
    ]);
  });
  afterAll(() => world.close());

  it('lists the transfers with the labels and the risk of both sides', async () => {
    const { transactions, searched, notSearched, searchedAt } = await find(`0x${HEX.toUpperCase()}`, 'eth');
    expect([searched, notSearched, searchedAt]).toEqual([['ETH'], [], new Date(NOW).toISOString()]);
    expect(transactions).toHaveLength(1);
    expect(transactions[0]).toMatchObject({
      chain: 'ETH',
      hash: `0x${HEX}`,
      totalTransfers: 3,
      truncated: false,
      unreadTransfers: 0,
      coverage: { graph: { status: 'PARTIAL' } },
      dataVersion: expect.any(String),
    });
    expect(transactions[0]?.transfers).toMatchObject([
      {
        position: 'value',
        from: WALLETS.sanctioned,
        to: WALLETS.exchange,
        asset: 'ETH',
        amount: '1',
        valueUsd: 2_000,
        evidence: true,
        blockNumber: 900,
        timestamp: new Date(NOW).toISOString(),
      },
      { position: 'log:1', asset: WALLETS.contract, valueUsd: null, evidence: false },
      { position: 'log:2', from: null },
    ]);
    const party = (address: string) => transactions[0]?.parties.find((one) => one.address === address);
    expect(party(WALLETS.sanctioned)).toMatchObject({
      label: 'LAZARUS GROUP',
      category: 'SANCTIONED_ENTITY',
      riskLevel: 'CRITICAL',
      sanctioned: true,
    });
    expect(party(WALLETS.exchange)).toMatchObject({
      category: 'EXCHANGE',
      riskLevel: 'LOW',
      sanctioned: false,
    });
    expect(party(WALLETS.unknown)).toMatchObject({ label: null, entity: null, category: 'UNKNOWN' });
    expect(transactions[0]?.parties).toHaveLength(3);
  });

  it('finds all chains that have the hash, and says which could not be searched', async () => {
    const { transactions, searched, notSearched } = await find(HEX);
    expect(transactions.map(({ chain, hash }) => [chain, hash])).toEqual([
      ['ETH', `0x${HEX}`],
      ['BASE', `0x${HEX}`],
      ['BTC', HEX],
    ]);
    expect(searched).toEqual(['ETH', 'BASE', 'BTC']);
    expect(notSearched).toContainEqual({ chain: 'POLYGON', reason: 'NO_TRANSFERS' });
    expect((await find('cd'.repeat(32))).transactions).toEqual([]);
  });

  it('says that transfers in a server cannot be searched, and that a node is away', async () => {
    const remote = await find(
      HEX,
      'ETH',
      search({ transaction: () => null, graph: (chain) => world.deps.transfers.graph(chain) }),
    );
    expect(remote.notSearched).toEqual([{ chain: 'ETH', reason: 'NOT_SEARCHABLE' }]);
    const away = await find(HEX, 'ETH', (): TransactionSearch => {
      throw new AssayError('NOT_READY', 'No node.');
    });
    expect(away.notSearched).toEqual([{ chain: 'ETH', reason: 'UNAVAILABLE' }]);
    const broken = find(HEX, 'ETH', () => {
      throw new AssayError('OVERLOADED', 'Too much.');
    });
    await expect(broken).rejects.toMatchObject({ code: 'OVERLOADED' });
  });

  it('rejects a text that is no hash, or none of the chain', async () => {
    await expect(find('<img src=x>')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await expect(find(HEX, 'SOL')).rejects.toThrow('hash: must be a transaction hash of SOL');
    await expect(find(HEX, 'NONE')).rejects.toMatchObject({ code: 'UNKNOWN_CHAIN' });
  });
});
