/** A small explorer over the transfers of a chain, which answers in the documented format of Etherscan v2 and of Blockscout. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Transfer } from '../../../../src/chains/transfer.ts';

export interface NodeLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockNumber: string;
  readonly logIndex: string;
  readonly transactionHash: string;
}

export interface Explorer {
  /** The URL as ASSAY_HISTORY_ETH takes it. */
  readonly url: string;
  transfers: Transfer[];
  /** ERC-721 and ERC-1155 contracts. */
  readonly pieces: Map<string, 721 | 1155>;
  /** All logs of the chain, as its node returns them. */
  logs: NodeLog[];
  requests: number;
  /** Rewrites responses, as a hostile explorer would. */
  rewrite: ((body: unknown, query: URLSearchParams) => unknown) | null;
  close(): Promise<void>;
}

const ZERO = `0x${'0'.repeat(40)}`;

function listOf(row: Transfer, pieces: Explorer['pieces']): string {
  if (row.position === 'value') return 'txlist';
  if (row.position.startsWith('trace:')) return 'txlistinternal';
  const kind = pieces.get(row.asset);
  return kind === 721 ? 'tokennfttx' : kind === 1155 ? 'token1155tx' : 'tokentx';
}

const logIndexOf = (row: Transfer): string => row.position.split(':')[1] ?? '';

function rowOf(row: Transfer, list: string, layout: string): Record<string, unknown> {
  const common = {
    blockNumber: String(row.blockNumber),
    timeStamp: String(row.timestampMs / 1000),
    hash: row.txHash,
    from: (row.from ?? ZERO).toLowerCase(),
    to: (row.to ?? ZERO).toLowerCase(),
    value: row.amount.toString(),
  };
  if (list === 'txlist') return { ...common, nonce: '1', isError: '0', contractAddress: '', input: '0x' };
  if (list === 'txlistinternal') {
    const place =
      layout === 'etherscan'
        ? { traceId: row.position.slice(6) }
        : { index: '1', transactionHash: row.txHash };
    return { ...common, ...place, type: 'call', isError: '0', contractAddress: '' };
  }
  return {
    ...common,
    contractAddress: row.asset.toLowerCase(),
    tokenDecimal: row.decimals === null ? '' : String(row.decimals),
    tokenSymbol: 'TKN',
    ...(layout === 'blockscout' ? { logIndex: logIndexOf(row) } : {}),
    // One row per token id of a batch.
    ...(list === 'token1155tx' ? { tokenID: row.position, tokenValue: row.amount.toString() } : {}),
    ...(list === 'tokennfttx' ? { tokenID: '77' } : {}),
  };
}

export async function startExplorer(layout: 'blockscout' | 'etherscan'): Promise<Explorer> {
  const explorer = {
    transfers: [] as Transfer[],
    pieces: new Map<string, 721 | 1155>(),
    logs: [] as NodeLog[],
    requests: 0,
    rewrite: null as Explorer['rewrite'],
  };

  function account(query: URLSearchParams): unknown {
    const list = query.get('action') ?? '';
    const address = query.get('address')?.toLowerCase();
    const [from, to] = [Number(query.get('startblock')), Number(query.get('endblock'))];
    const [page, size] = [Number(query.get('page')), Number(query.get('offset'))];
    const rows = explorer.transfers
      .filter((row) => listOf(row, explorer.pieces) === list)
      .filter((row) => [row.from, row.to].some((party) => party?.toLowerCase() === address))
      .filter((row) => row.blockNumber >= from && row.blockNumber <= to)
      .toSorted((a, b) => b.blockNumber - a.blockNumber)
      .slice((page - 1) * size, page * size)
      .map((row) => rowOf(row, list, layout));
    return rows.length === 0
      ? { status: '0', message: 'No transactions found', result: [] }
      : { status: '1', message: 'OK', result: rows };
  }

  /** Filters logs like `eth_getLogs`, with `and` between topics; a zero is written `0x`. */
  function logs(query: URLSearchParams): unknown {
    const timeOf = new Map(explorer.transfers.map((row) => [row.blockNumber, row.timestampMs / 1000]));
    const hex = (value: number): string => (value === 0 ? '0x' : `0x${value.toString(16)}`);
    const result = explorer.logs
      .filter(
        ({ blockNumber }) =>
          Number(blockNumber) >= Number(query.get('fromBlock')) &&
          Number(blockNumber) <= Number(query.get('toBlock')),
      )
      .filter(({ topics }) =>
        [0, 1, 2, 3].every((n) => !query.has(`topic${n}`) || query.get(`topic${n}`) === topics[n]),
      )
      .map((log) => ({
        ...log,
        logIndex: hex(Number(log.logIndex)),
        timeStamp: hex(timeOf.get(Number(log.blockNumber)) ?? 0),
      }));
    return {
      status: result.length === 0 ? '0' : '1',
      message: result.length === 0 ? 'No records found' : 'OK',
      result,
    };
  }

  const server = createServer((request, response) => {
    explorer.requests++;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://explorer');
    const isRight =
      layout === 'etherscan'
        ? pathname === '/v2/api' &&
          searchParams.get('chainid') === '1' &&
          searchParams.get('apikey') === 'secret'
        : pathname === '/api';
    const answer = !isRight
      ? { status: '0', message: 'NOTOK', result: 'Missing or wrong chainid' }
      : searchParams.get('module') === 'logs'
        ? logs(searchParams)
        : account(searchParams);
    const body = explorer.rewrite === null ? answer : explorer.rewrite(answer, searchParams);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(explorer, {
    url: layout === 'etherscan' ? `etherscan+${base}/v2/api?apikey=secret` : `blockscout+${base}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
}
