/** The EVM adapter against a real node. */
import { getCreateAddress, namehash } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter, ChainEvent } from '../../../../src/chains/families/port.ts';
import type { Transfer } from '../../../../src/chains/transfer.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { ACCOUNTS, type Anvil, callData, deployEns, hasAnvil, startAnvil } from '../../../setup/anvil.ts';
import { startFaultProxy } from '../../../setup/fault-proxy.ts';
import { startSocketCutter } from '../../../setup/socket-cutter.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } };
const COIN = 10n ** 18n;
const STRANGER = '0x1111111111111111111111111111111111111111';

const height = async (anvil: Anvil): Promise<number> => Number(await anvil.rpc<string>('eth_blockNumber'));

if (hasAnvil)
  adapterConformance('the EVM adapter before anvil', family, async () => {
    const anvil = await startAnvil();
    await anvil.mine(3);
    for (let block = 0; block < 3; block++) {
      await anvil.send({ to: ACCOUNTS[1], value: COIN });
      await anvil.send({ to: ACCOUNTS[2], value: 2n * COIN });
      await anvil.mine();
    }
    const busy = await height(anvil);
    return {
      chain: 'ETH',
      rpc: anvil.url,
      history: null,
      address: ACCOUNTS[1].toLowerCase(),
      unused: STRANGER,
      balance: async () => BigInt(await anvil.rpc<string>('eth_getBalance', ACCOUNTS[1], 'latest')),
      historyKind: 'NONE',
      busyBlock: async () => ({ height: busy, items: 2 }),
      mine: () => anvil.mine(),
      reorg: (depth) => anvil.reorg(depth),
      ofAnotherChain: (body) => body.replace('"result":"0x1"', '"result":"0x38"'),
      dispose: () => anvil.stop(),
    };
  });

describe.skipIf(!hasAnvil)('the EVM adapter with a real node', () => {
  let anvil: Anvil;
  let adapter: ChainAdapter;
  beforeAll(async () => {
    anvil = await startAnvil();
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
  });
  afterAll(async () => {
    await adapter?.close();
    await anvil?.stop();
  });

  const transfersAt = async (number: number): Promise<readonly Transfer[]> => {
    const { block } = await adapter.block(number, within(10_000));
    return block?.transfers ?? [];
  };
  const shown = (rows: readonly Transfer[]) =>
    rows.map(({ position, from, to, asset, amount, decimals }) => ({
      position,
      from,
      to,
      asset,
      amount,
      decimals,
    }));

  it('reads tokens of three standards from their logs, and nothing from similar logs', async () => {
    const token = await anvil.deploy('Token');
    const pieces = await anvil.deploy('Pieces');
    await anvil.send({ to: token, data: callData('transfer', ACCOUNTS[1], 5_000_000n) });
    await anvil.send({ to: pieces, data: callData('give', ACCOUNTS[1], 77n) });
    await anvil.send({ to: pieces, data: callData('giveSome', ACCOUNTS[2], 8n, 9n) });
    await anvil.send({ to: pieces, data: callData('giveMany', ACCOUNTS[2], [1n, 2n], [30n, 40n]) });
    await anvil.send({ to: pieces, data: callData('lie') });
    await anvil.mine();
    const moves = shown(await transfersAt(await height(anvil))).filter(
      ({ position }) => position !== 'value',
    );
    const from = ACCOUNTS[0];
    expect(moves).toEqual([
      { position: 'log:0', from, to: ACCOUNTS[1], asset: token, amount: 5_000_000n, decimals: 6 },
      { position: 'log:1', from, to: ACCOUNTS[1], asset: pieces, amount: 1n, decimals: 0 },
      { position: 'log:2', from, to: ACCOUNTS[2], asset: pieces, amount: 9n, decimals: 0 },
      { position: 'log:3:0', from, to: ACCOUNTS[2], asset: pieces, amount: 30n, decimals: 0 },
      { position: 'log:3:1', from, to: ACCOUNTS[2], asset: pieces, amount: 40n, decimals: 0 },
    ]);
  });

  it('returns no sender for a mint, and the new contract as the receiver of a creation', async () => {
    const token = await anvil.deploy('Token');
    expect(shown(await transfersAt(await height(anvil)))).toEqual([
      { position: 'value', from: ACCOUNTS[0], to: token, asset: 'ETH', amount: 0n, decimals: 18 },
      {
        position: 'log:0',
        from: null,
        to: ACCOUNTS[0],
        asset: token,
        amount: 1_000_000_000_000n,
        decimals: 6,
      },
    ]);
  });

  it.each(['trace_block', 'debug_traceBlockByNumber'])(
    'reads value moved inside a transaction by %s',
    async (method) => {
      const other = method === 'trace_block' ? 'debug_traceBlockByNumber' : 'trace_block';
      const router = await anvil.deploy('Router');
      await anvil.send({ to: router, value: 8_000n, data: callData('run', STRANGER), gas: 1_000_000 });
      await anvil.mine();
      // A node that has only one of the two methods.
      const proxy = await startFaultProxy(anvil.url, { refuse: [other] });
      const own = openFor(family, 'ETH', { rpc: [proxy.url] });
      try {
        const answer = await own.block(await height(anvil), within(10_000));
        expect(answer).toMatchObject({ completeness: 'COMPLETE', note: null });
        const [value, ...inner] = shown(answer.block?.transfers ?? []);
        expect(value).toMatchObject({ position: 'value', to: router, amount: 8_000n });
        // 0: paid; 1: created without value; 2: failed; 3: delegated, its own call is the router's; 4: static call; 5: call with value; 6:
        // self-destruct.
        expect(
          inner.map(({ position, from, to, amount }) => [position, from === router, to === STRANGER, amount]),
        ).toEqual([
          ['trace:0', true, true, 2_000n],
          ['trace:3_0', true, true, 1_000n],
          ['trace:5', true, false, 4_000n],
          [expect.stringMatching(/^trace:6(_0)?$/), false, true, 4_000n],
        ]);
      } finally {
        await own.close();
        await proxy.close();
      }
    },
  );

  it('gives a transfer the same position by each method, also after a call to a precompiled contract', async () => {
    // ecrecover(), then 7 wei to the stranger, then stop.
    const words = ['5f5f5f5f60015afa50', `5f5f5f5f600773${STRANGER.slice(2)}5af150`, '00'];
    const code = words.join('');
    const init = `60${(code.length / 2).toString(16)}80600a5f395ff3`.padEnd(20, '0');
    await anvil.send({ data: `0x${init}${code}`, gas: 1_000_000 });
    await anvil.mine();
    const nonce = Number(await anvil.rpc<string>('eth_getTransactionCount', ACCOUNTS[0], 'latest')) - 1;
    await anvil.send({ to: getCreateAddress({ from: ACCOUNTS[0], nonce }), value: 7n, gas: 1_000_000 });
    await anvil.mine();
    const positions: string[][] = [];
    for (const refused of ['trace_block', 'debug_traceBlockByNumber']) {
      const proxy = await startFaultProxy(anvil.url, { refuse: [refused] });
      const own = openFor(family, 'ETH', { rpc: [proxy.url] });
      const { block } = await own.block(await height(anvil), within(10_000));
      positions.push((block?.transfers ?? []).map(({ position, to }) => `${position} ${to === STRANGER}`));
      await own.close();
      await proxy.close();
    }
    expect(positions[0]).toEqual(['value false', 'trace:0 true']);
    expect(positions[1]).toEqual(positions[0]);
  });

  it('reports PARTIAL if no node supports traces', async () => {
    await anvil.send({ to: STRANGER, value: 1n });
    await anvil.mine();
    const proxy = await startFaultProxy(anvil.url, {
      refuse: ['trace_block', 'debug_traceBlockByNumber', 'eth_getBlockReceipts'],
    });
    const own = openFor(family, 'ETH', { rpc: [proxy.url] });
    try {
      const answer = await own.block(await height(anvil), within(10_000));
      expect(answer).toMatchObject({ completeness: 'PARTIAL', note: expect.stringContaining('traces') });
      expect(answer.block?.transfers).toHaveLength(1);
    } finally {
      await own.close();
      await proxy.close();
    }
  });

  it('reads the contracts that a block creates, with the receipts of the block or one by one', async () => {
    const code = '0x60016000f3';
    const first = Number(await anvil.rpc<string>('eth_getTransactionCount', ACCOUNTS[2], 'pending'));
    for (let contract = 0; contract < 33; contract++)
      await anvil.send({ from: ACCOUNTS[2], data: contract === 5 ? '0x60006000fd' : code, gas: 100_000 });
    await anvil.send({ to: STRANGER, value: 1n });
    await anvil.mine();
    const at = await height(anvil);
    const expected = Array.from({ length: 33 }, (_, number) =>
      getCreateAddress({ from: ACCOUNTS[2], nonce: first + number }),
    ).filter((_, number) => number !== 5);
    const proxy = await startFaultProxy(anvil.url, { refuse: ['eth_getBlockReceipts'] });
    const lying = await startFaultProxy(anvil.url);
    lying.rewrite = (body) => body.replaceAll(expected[0]!.toLowerCase(), STRANGER);
    try {
      for (const url of [anvil.url, proxy.url]) {
        const own = openFor(family, 'ETH', { rpc: [url] });
        const found = await own.creations!(at, within(10_000));
        expect(found?.creations.map(({ contract }) => contract)).toEqual(expected);
        expect(found).toMatchObject({ height: at, unverified: 0 });
        expect(found?.creations[0]).toMatchObject({ creator: ACCOUNTS[2], index: 0 });
        expect(await own.creations!(at + 1, within(10_000))).toBeNull();
        await own.close();
      }
      const deceived = openFor(family, 'ETH', { rpc: [lying.url] });
      const found = await deceived.creations!(at, within(10_000));
      expect([found?.unverified, found?.creations.length]).toEqual([1, 31]);
      await deceived.close();
    } finally {
      await proxy.close();
      await lying.close();
    }
  });

  it('reads code and storage as they were after a block', async () => {
    const slot = `0x${'0'.repeat(63)}7`;
    const before = await adapter.head(within(10_000));
    const address = await anvil.deploy('Token');
    await anvil.rpc('anvil_setStorageAt', address, slot, `0x${'0'.repeat(62)}2a`);
    await anvil.mine();
    const after = await adapter.head(within(10_000));
    expect(await adapter.code!(address, within(10_000), before.hash)).toBe('0x');
    expect(await adapter.code!(address, within(10_000), after.hash)).toMatch(/^0x60/);
    expect(await adapter.storage!(address, slot, after.hash, within(10_000))).toBe(`0x${'0'.repeat(62)}2a`);
    expect(await adapter.storage!(STRANGER, slot, after.hash, within(10_000))).toBe(`0x${'0'.repeat(64)}`);
    const unknown = `0x${'12'.repeat(32)}`;
    await expect(adapter.storage!(address, slot, unknown, within(10_000))).rejects.toMatchObject({
      code: 'CHAIN_REFUSED',
    });
  });

  it('returns no transfers of a failed transaction', async () => {
    const router = await anvil.deploy('Router');
    await anvil.send({ to: router, value: 500n, data: callData('fail'), gas: 100_000 });
    await anvil.mine();
    expect(shown(await transfersAt(await height(anvil)))).toMatchObject([
      { position: 'value', to: router, amount: 0n },
    ]);
  });

  it('resolves names by the contracts, also with wildcards, and fetches no URL of an owner', async () => {
    const { resolver } = await deployEns(
      anvil,
      { 'alice.eth': ACCOUNTS[1], 'outside.eth': ACCOUNTS[2] },
      namehash,
    );
    await anvil.send({ to: resolver, data: callData('setAddr', namehash('pay.alice.eth'), ACCOUNTS[3]) });
    await anvil.send({
      to: resolver,
      data: callData('setGateway', namehash('outside.eth'), `${anvil.url}/{sender}/{data}`),
    });
    await anvil.mine();
    const resolve = adapter.resolveName!;
    expect(await resolve('Alice.ETH', within(10_000))).toMatchObject({
      address: ACCOUNTS[1],
      completeness: 'COMPLETE',
    });
    expect(await resolve('pay.alice.eth', within(10_000))).toMatchObject({ address: ACCOUNTS[3] });
    expect(await resolve('nobody.eth', within(10_000))).toMatchObject({
      address: null,
      completeness: 'COMPLETE',
    });
    expect(await resolve('outside.eth', within(10_000))).toMatchObject({
      address: null,
      completeness: 'PARTIAL',
    });
    await expect(resolve('a..eth', within(10_000))).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(openFor(family, 'BSC', {}).resolveName).toBeNull();
    // Even if off-chain names are switched on, a gateway on a private network is not requested.
    const open = openFor(family, 'ETH', { rpc: [anvil.url] }, { offchainNames: true });
    expect(await open.resolveName!('outside.eth', within(10_000))).toMatchObject({
      address: null,
      completeness: 'PARTIAL',
    });
    await open.close();
  });

  it('queries as many nodes as must agree, and trusts none alone', async () => {
    const liar = await startFaultProxy(anvil.url);
    const own = openFor(family, 'ETH', { rpc: [anvil.url, liar.url] }, { quorum: 2 });
    try {
      const honest = await own.balance(ACCOUNTS[1], within(10_000));
      expect(honest.source).toContain(', ');
      liar.rewrite = (body) => body.replace(/"result":"0x[0-9a-f]{6,}"/, '"result":"0x123456789"');
      await expect(own.balance(ACCOUNTS[1], within(10_000))).rejects.toMatchObject({
        code: 'CHAIN_BAD_ANSWER',
      });
    } finally {
      await own.close();
      await liar.close();
    }
  });
});

describe.skipIf(!hasAnvil)('following a real node over a WebSocket', () => {
  it('resumes after a cut connection and a restart of the node, without a gap or a repetition', async () => {
    const anvil = await startAnvil();
    const cutter = await startSocketCutter(anvil.url);
    const adapter = openFor(family, 'ETH', { rpc: [cutter.socketUrl] });
    const ending = new AbortController();
    const heights: number[] = [];
    let seen: () => void = () => {};
    const following = (async () => {
      for await (const event of adapter.subscribe(
        { fromHeight: 0, known: [] },
        within(5_000, ending.signal),
      )) {
        expect(event.type).toBe('block');
        heights.push((event as Extract<ChainEvent, { type: 'block' }>).block.height);
        seen();
      }
    })();
    const until = async (count: number): Promise<void> => {
      while (heights.length < count)
        await new Promise<void>((resolve) => {
          seen = resolve;
        });
    };
    try {
      await anvil.mine(2);
      await until(3);
      cutter.cut();
      await anvil.mine(2);
      await until(5);
      const before = cutter.connections;
      // A node that has just started has no state yet: to a reader it looks like another chain.
      cutter.refuses = true;
      cutter.cut();
      await anvil.restart(300);
      cutter.refuses = false;
      await anvil.mine(1);
      await until(6);
      expect(cutter.connections).toBeGreaterThan(before);
      expect(heights).toEqual([0, 1, 2, 3, 4, 5]);
    } finally {
      ending.abort();
      await following;
      await adapter.close();
      await cutter.close();
      await anvil.stop();
    }
  });

  it('reports a reorg during the connection, and one while it is cut', async () => {
    const anvil = await startAnvil();
    const cutter = await startSocketCutter(anvil.url);
    const adapter = openFor(family, 'ETH', { rpc: [cutter.socketUrl] });
    const ending = new AbortController();
    const events = adapter
      .subscribe({ fromHeight: 0, known: [] }, within(5_000, ending.signal))
      [Symbol.asyncIterator]();
    /** The chain as the events give it: dropped blocks are removed, new blocks are appended. */
    const blocks: { readonly height: number; readonly hash: string }[] = [];
    const reorgs: number[] = [];
    const hashOf = async (block: number): Promise<string> => {
      const { hash } = await anvil.rpc<{ hash: string }>(
        'eth_getBlockByNumber',
        `0x${block.toString(16)}`,
        false,
      );
      return hash;
    };
    async function followTo(hash: string): Promise<void> {
      while (blocks.at(-1)?.hash !== hash) {
        const event = (await events.next()).value as ChainEvent;
        if (event.type === 'block') {
          const { height: at, hash: own, parentHash } = event.block;
          if (blocks.length > 0) expect([parentHash, at]).toEqual([blocks.at(-1)!.hash, blocks.length]);
          blocks.push({ height: at, hash: own });
          continue;
        }
        expect(event.dropped.map((row) => row.hash)).toEqual(
          blocks
            .splice(-event.dropped.length)
            .toReversed()
            .map((row) => row.hash),
        );
        expect(event.ancestor).toEqual(blocks.at(-1));
        reorgs.push(event.dropped.length);
      }
    }
    try {
      await anvil.mine(5);
      await followTo(await hashOf(5));
      await anvil.send({ to: ACCOUNTS[1], value: COIN });
      await anvil.reorg(3);
      await anvil.mine();
      await followTo(await hashOf(6));
      cutter.cut();
      await anvil.reorg(2);
      await anvil.mine(2);
      await followTo(await hashOf(8));
      expect(reorgs).toEqual([3, 2]);
      for (const { height: at, hash } of blocks) expect(hash).toBe(await hashOf(at));
      expect(blocks).toHaveLength(9);
    } finally {
      ending.abort();
      await events.next();
      await adapter.close();
      await cutter.close();
      await anvil.stop();
    }
  });
});
