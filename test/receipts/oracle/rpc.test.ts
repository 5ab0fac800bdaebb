import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { blockNumber, type ChainRpc, chainIdOf, openChainRpc } from '../../../src/receipts/oracle/rpc.ts';

describe('the node of a push', () => {
  let server: Server;
  let asked: string[];
  let rpc: ChainRpc;
  beforeEach(async () => {
    asked = [];
    // A node that fails at the first request of each method but one.
    server = createServer(async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const isFirst = method !== 'eth_chainId' && !asked.includes(method);
      asked.push(method);
      response.writeHead(isFirst ? 500 : 200, { 'content-type': 'application/json' });
      response.end(isFirst ? 'down' : JSON.stringify({ jsonrpc: '2.0', id, result: '0x2a' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    rpc = openChainRpc(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      { chain: 'ETH', signal: new AbortController().signal },
      { clock: systemClock, log: silentLogger, jitter: () => 0.5 },
    );
    // A node that has answered is not given up at its first failure.
    expect(await chainIdOf(rpc)).toBe(42);
    asked.length = 0;
  });
  afterEach(async () => {
    await rpc.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('is asked again if it fails at a question', async () => {
    expect(await blockNumber(rpc)).toBe(42);
    expect(asked).toEqual(['eth_blockNumber', 'eth_blockNumber']);
  });

  it('is sent a transaction once, because it may have accepted it before it failed', async () => {
    await expect(rpc.request('eth_sendRawTransaction', ['0x00'], String)).rejects.toMatchObject({
      code: expect.stringMatching(/^CHAIN_/),
    });
    expect(asked).toEqual(['eth_sendRawTransaction']);
  });
});
