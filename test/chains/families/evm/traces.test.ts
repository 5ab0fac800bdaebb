/** Value that moves inside transactions, from nodes that lag, fail, or answer in forms of their own. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { parseEndpoint } from '../../../../src/chains/endpoints/endpoints.ts';
import { openAdapter } from '../../../../src/chains/families/evm/adapter.ts';
import type { BlockAnswer, ChainAdapter } from '../../../../src/chains/families/port.ts';
import type { ChainId } from '../../../../src/chains/registry.ts';
import { within } from '../../../conformance/adapter.ts';

const hash = (digit: string, number: number): string =>
  `0x${digit}${number.toString(16).padStart(4, '0').padEnd(63, '0')}`;
const account = (digit: string): string => `0x${digit.repeat(40)}`;
const ZERO = account('0');
const [SENDER, CONTRACT, RECEIVER] = [account('1'), account('2'), account('3')];
const call = (from: string, to: string, value: string) => ({ type: 'CALL', from, to, value });

/** Two transactions in each block: the first pays 5 wei out of a contract, the second moves nothing. */
const transactionsOf = (height: number, last = SENDER) =>
  [SENDER, last].map((from, index) => ({
    hash: hash(`${index + 1}`, height),
    from,
    to: from === ZERO ? ZERO : CONTRACT,
    value: '0x0',
    input: '0x',
  }));

const traceRows = (height: number, extra: object = {}) =>
  transactionsOf(height).flatMap(({ from, to, value }, transactionPosition) => {
    const row = { type: 'call', blockHash: hash('b', height), transactionPosition, ...extra };
    const root = { ...row, action: { callType: 'call', from, to, value }, traceAddress: [] };
    const inner = {
      ...row,
      action: { callType: 'call', from: CONTRACT, to: RECEIVER, value: '0x5' },
      traceAddress: [0],
    };
    return transactionPosition === 0 ? [root, inner] : [root];
  });

const callRows = (height: number) => [
  {
    txHash: hash('1', height),
    result: { ...call(SENDER, CONTRACT, '0x0'), calls: [call(CONTRACT, RECEIVER, '0x5')] },
  },
  { txHash: hash('2', height), result: call(SENDER, CONTRACT, '0x0') },
];

type Reply = { readonly result: unknown } | { readonly error: { code: number; message: string } };
const missing = (method: string): Reply => ({
  error: { code: -32601, message: `the method ${method} does not exist/is not available` },
});
const unknownBlock: Reply = { error: { code: -32000, message: 'block not found' } };

interface Node {
  readonly adapter: ChainAdapter;
  /** Names of the requested methods. */
  readonly asked: string[];
  /** Lets time pass for the adapter. */
  pass(ms: number): void;
  transfers(height: number): Promise<{ positions: string[] } & Pick<BlockAnswer, 'completeness'>>;
}

const opened: { server: Server; adapter: ChainAdapter }[] = [];
afterEach(async () => {
  for (const { server, adapter } of opened.splice(0)) {
    await adapter.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Starts a node with endless blocks, and opens an adapter for it. */
async function start(
  tracing: {
    readonly flat?: (height: number) => Reply;
    readonly tree?: (height: number) => Reply;
    /** The sender of the last transaction of a block. */
    readonly last?: string;
  },
  chain: ChainId = 'ETH',
): Promise<Node> {
  const asked: string[] = [];
  const answer = (method: string, params: unknown[]): Reply => {
    const height = Number(params[0]);
    const transactions = transactionsOf(height, tracing.last);
    if (method === 'eth_chainId') return { result: chain === 'ETH' ? '0x1' : '0x89' };
    if (method === 'eth_getBlockByNumber')
      return {
        result: {
          number: `0x${height.toString(16)}`,
          hash: hash('b', height),
          parentHash: hash('b', height - 1),
          timestamp: '0x6a000000',
          transactions,
        },
      };
    if (method === 'eth_getBlockReceipts')
      return {
        result: transactions.map((transaction) => ({
          transactionHash: transaction.hash,
          blockHash: hash('b', height),
          status: '0x1',
          contractAddress: null,
          logs: [],
        })),
      };
    if (method === 'trace_block') return tracing.flat?.(height) ?? missing(method);
    if (method === 'debug_traceBlockByNumber') return tracing.tree?.(height) ?? missing(method);
    return missing(method);
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString();
    });
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] };
      asked.push(method);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer(method, params) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let passedMs = 0;
  const adapter = openAdapter(
    {
      chain,
      rpc: [parseEndpoint(url, { field: 'rpc', defaultLayout: 'json-rpc', own: true })],
      history: [],
      quorum: 1,
      offchainNames: false,
    },
    {
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs },
      log: silentLogger,
      jitter: () => 0.5,
    },
  );
  opened.push({ server, adapter });
  return {
    adapter,
    asked,
    pass(ms) {
      passedMs += ms;
    },
    async transfers(height) {
      const { block, completeness } = await adapter.block(height, within(10_000));
      return { completeness, positions: (block?.transfers ?? []).map(({ position }) => position) };
    },
  };
}

const WHOLE = { completeness: 'COMPLETE', positions: ['value', 'trace:0', 'value'] };
const BARE = { completeness: 'PARTIAL', positions: ['value', 'value'] };

describe('the traces of a block', () => {
  it.each<[string, Reply]>([
    ['says that it does not have the block', unknownBlock],
    ['says so with the code of EIP-1474', { error: { code: -32001, message: 'resource missing' } }],
    ['has no traces of a block with transactions', { result: [] }],
    ['returns null', { result: null }],
  ])('are requested again if a node behind a load balancer lags and %s', async (_, lagging) => {
    let isLagging = true;
    const { transfers } = await start({
      flat: (height) => (isLagging ? lagging : { result: traceRows(height) }),
    });
    await expect(transfers(7)).rejects.toMatchObject({ code: 'CHAIN_REFUSED' });
    isLagging = false;
    expect(await transfers(7)).toEqual(WHOLE);
    expect(await transfers(8)).toEqual(WHOLE);
  });

  it('are not requested for ten minutes if the node does not have the method', async () => {
    const { transfers, asked, pass } = await start({});
    expect(await transfers(7)).toEqual(BARE);
    expect(await transfers(8)).toEqual(BARE);
    expect(asked.filter((method) => method === 'trace_block')).toHaveLength(1);
    pass(600_001);
    await transfers(9);
    expect(asked.filter((method) => method === 'trace_block')).toHaveLength(2);
  });

  it('of the next blocks are read if the state of one was pruned', async () => {
    const pruned: Reply = { error: { code: -32000, message: 'historical state 0xab is not available' } };
    const { transfers } = await start({
      tree: (height) => (height < 8 ? pruned : { result: callRows(height) }),
    });
    expect(await transfers(7)).toEqual(BARE);
    expect(await transfers(8)).toEqual(WHOLE);
  });

  it('are left out after some attempts if they cannot be read', async () => {
    const { transfers, pass } = await start({
      flat: (height) => ({ result: height === 7 ? 'too large' : traceRows(height) }),
    });
    let answer: Awaited<ReturnType<typeof transfers>> | null = null;
    let failures = 0;
    for (; answer === null && failures < 20; failures++) {
      answer = await transfers(7).catch(() => null);
      // The endpoint rests after several failures.
      pass(4_000);
    }
    expect(answer).toEqual(BARE);
    expect(failures).toBeGreaterThan(3);
    expect(await transfers(8)).toEqual(WHOLE);
  }, 30_000);

  it('count a call with an empty error as one that succeeded', async () => {
    const { transfers } = await start({ flat: (height) => ({ result: traceRows(height, { error: null }) }) });
    expect(await transfers(7)).toEqual(WHOLE);
  });

  it('are PARTIAL if one transaction takes the node too long, with those of the others', async () => {
    const { transfers } = await start({
      tree: (height) => ({
        result: [callRows(height)[0], { txHash: hash('2', height), error: 'execution timeout' }],
      }),
    });
    expect(await transfers(7)).toEqual({ ...WHOLE, completeness: 'PARTIAL' });
  });

  it('may lack the state sync at the end of a block of Polygon, and no other transaction', async () => {
    const tree = (height: number): Reply => ({ result: callRows(height).slice(0, 1) });
    const polygon = await start({ tree, last: ZERO }, 'POLYGON');
    expect(await polygon.transfers(7)).toEqual(WHOLE);
    const other = await start({ tree });
    await expect(other.transfers(7)).rejects.toMatchObject({ code: 'CHAIN_BAD_ANSWER' });
  });
});
