/** A fresh store beside a real node: screening queries the chain, `watch` prints it, and an unreachable chain blocks nothing. */
import { namehash } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdapter } from '../../src/chains/families/evm/adapter.ts';
import { type Explorer, startExplorer } from '../chains/families/evm/explorer.ts';
import { openFor, within } from '../conformance/adapter.ts';
import { type Anvil, deployEns, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { ask, newEmptyWorld, newWorld, type RunningServer, type World } from './program.ts';

const BUDGET_MS = 20_000;
const COIN = 10n ** 18n;
const LAZARUS = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';
const CUSTOMER = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';

describe.skipIf(!hasAnvil)('a new store with a node', () => {
  let anvil: Anvil;
  let explorer: Explorer;
  let world: World;
  let server: RunningServer;
  let environment: Record<string, string>;

  beforeAll(async () => {
    anvil = await startAnvil();
    explorer = await startExplorer('etherscan');
    await anvil.rpc('anvil_impersonateAccount', LAZARUS);
    await anvil.rpc('anvil_setBalance', LAZARUS, `0x${(100n * COIN).toString(16)}`);
    await anvil.send({ from: LAZARUS, to: CUSTOMER, value: 3n * COIN });
    await anvil.mine();
    await deployEns(anvil, { 'customer.eth': CUSTOMER }, namehash);
    const reader = openFor({ openAdapter, layouts: { rpc: 'json-rpc', history: 'etherscan' } }, 'ETH', {
      rpc: [anvil.url],
    });
    explorer.transfers.push(...((await reader.block(1, within(10_000))).block?.transfers ?? []));
    await reader.close();
    world = newWorld();
    environment = {
      ASSAY_RPC_ETH: anvil.url,
      ASSAY_HISTORY_ETH: explorer.url,
      // No server listens there.
      ASSAY_RPC_BSC: 'http://127.0.0.1:9',
      ASSAY_HISTORY_BSC: 'http://127.0.0.1:9',
      // A busy machine may take long to query a chain that is reachable.
      ASSAY_CHAIN_BUDGET_MS: String(BUDGET_MS),
    };
    server = await world.serve(environment);
  });
  afterAll(async () => {
    await world?.end();
    await explorer?.close();
    await anvil?.stop();
  });

  const screen = async (chain: string, address: string) => {
    const { status, body } = await ask(server, server.firstKey, '/api/v1/screening', { chain, address });
    expect(status).toBe(200);
    return body.data as unknown as Record<string, unknown>;
  };

  it('screens an address without ingested transfers by balance, history and exposure', async () => {
    const answer = await screen('ETH', CUSTOMER);
    expect(answer).toMatchObject({
      balance: 3,
      totalTransactions: 1,
      crossChainBalances: { ETH: { balance: 3 }, BSC: { balance: null } },
      coverage: {
        balances: { status: 'PARTIAL' },
        history: { status: 'COMPLETE' },
        graph: { status: 'PARTIAL' },
      },
      topCounterparties: [{ address: LAZARUS.toLowerCase(), direction: 'in', txCount: 1 }],
    });
    expect(Object.keys(answer.exposureReceiving as object)).not.toEqual([]);
    const { requests } = explorer;
    await screen('ETH', CUSTOMER);
    expect(explorer.requests).toBe(requests);
  });

  it('does not delay a screening if a chain is unreachable, and reports it in the coverage', async () => {
    await screen('BSC', LAZARUS);
    const startedAt = performance.now();
    for (let time = 0; time < 5; time++)
      expect(await screen('BSC', LAZARUS)).toMatchObject({
        coverage: { history: { status: 'NONE', asOf: null } },
        crossChainBalances: { BSC: { balance: null, balanceUsd: null } },
      });
    expect((performance.now() - startedAt) / 5).toBeLessThan(BUDGET_MS / 4);
  });

  it('resolves a name in a KYT request by the contracts', async () => {
    const { status, body } = await ask(server, server.firstKey, '/api/v1/kyt', {
      chain: 'ETH',
      from: LAZARUS,
      to: 'customer.eth',
    });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ resolved: { 'customer.eth': CUSTOMER } });
    const missing = await ask(server, server.firstKey, '/api/v1/kyt', {
      chain: 'ETH',
      from: LAZARUS,
      to: 'nobody.eth',
    });
    expect(missing.status).toBe(400);
  });

  it('reads the same node in screen and watch on the command line', async () => {
    await server.stop();
    const screened = await world.run(['screen', 'ETH', CUSTOMER, '--json'], { environment });
    expect(JSON.parse(screened.out)).toMatchObject({
      balance: 3,
      coverage: { history: { status: 'COMPLETE' } },
    });
    const watched = await world.run(['watch', 'ETH', '--from', '1', '--blocks', '1', '--json'], {
      environment,
    });
    expect(JSON.parse(watched.out.trim().split('\n')[0] ?? '')).toMatchObject({
      chain: 'ETH',
      from: LAZARUS,
      to: CUSTOMER,
      amount: String(3n * COIN),
      position: 'value',
    });
    // The block brings the transfer that the screening fetched: it is counted once.
    const ingested = await world.run(['watch', 'ETH', '--from', '0', '--blocks', '3', '--ingest'], {
      environment,
    });
    expect(ingested.err).not.toMatch(/assay: /);
    const again = await world.run(['screen', 'ETH', CUSTOMER, '--json'], { environment });
    expect(JSON.parse(again.out)).toMatchObject({ totalTransactions: 1 });
  });

  it('screens without an earlier server: the index of an empty store begins with the shipped data', async () => {
    const fresh = newEmptyWorld();
    const refused = await fresh.run(['screen', 'ETH', CUSTOMER], { environment });
    expect(refused.err).toContain("Run 'assay index build'");
    expect((await fresh.run(['index', 'build'])).out).toContain('real: ');
    const screened = await fresh.run(['screen', 'ETH', CUSTOMER, '--json'], { environment });
    expect(JSON.parse(screened.out)).toMatchObject({
      balance: 3,
      coverage: { history: { status: 'COMPLETE' } },
      exposureReceiving: expect.anything(),
    });
    await fresh.end();
  });

  it('reports a chain without a node, and an unknown chain, in one line', async () => {
    const none = await world.run(['watch', 'BTC']);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('ASSAY_RPC_BTC') });
    const wrong = await world.run(['lookup', 'ETH', CUSTOMER], {
      environment: { ASSAY_RPC_ETHEREUM: anvil.url },
    });
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('ASSAY_RPC_ETHEREUM') });
  });
});
