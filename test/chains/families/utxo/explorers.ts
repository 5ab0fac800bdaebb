/**
 * Explorers that answer as Esplora and Blockbook document it, over the blocks of a real regtest node. They write addresses in the form of
 * the main network.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ScriptReader } from '../../../../src/chains/bitcoin-script.ts';
import type { ChainId } from '../../../../src/chains/registry.ts';
import type { BitcoinNode } from '../../../setup/litecoind.ts';

interface NodeOutput {
  readonly value: number;
  readonly n: number;
  readonly scriptPubKey: { readonly hex: string; readonly type: string };
}
interface NodeTransaction {
  readonly txid: string;
  readonly vin: readonly { readonly txid?: string; readonly vout?: number; readonly coinbase?: string }[];
  readonly vout: readonly NodeOutput[];
}
interface NodeBlock {
  readonly hash: string;
  readonly height: number;
  readonly time: number;
  readonly previousblockhash?: string | null;
  readonly tx: readonly NodeTransaction[];
}

export interface Explorer {
  readonly url: string;
  /** Rows per page of an address's transactions. */
  pageRows: number;
  /** The requests so far, as path and query. */
  readonly requests: string[];
  close(): Promise<void>;
}

const satoshi = (value: number): bigint => BigInt(Math.round(value * 1e8));

/** Reads the blocks of the node's current chain, each block once. */
function chainOfNode(node: BitcoinNode) {
  const byHash = new Map<string, NodeBlock>();
  return async (): Promise<NodeBlock[]> => {
    const blocks: NodeBlock[] = [];
    let hash: string | undefined = await node.rpc<string>('getbestblockhash');
    while (hash !== undefined) {
      const block: NodeBlock =
        byHash.get(hash) ?? (await node.rpc<NodeBlock>('getblock', hash, ...node.wholeBlock));
      byHash.set(hash, block);
      blocks[block.height] = block;
      hash = block.previousblockhash ?? undefined;
    }
    return blocks;
  };
}

interface Row {
  readonly block: NodeBlock;
  readonly tx: NodeTransaction;
}

class View {
  readonly blocks: readonly NodeBlock[];
  readonly rows = new Map<string, Row>();

  constructor(blocks: readonly NodeBlock[]) {
    this.blocks = blocks;
    for (const block of blocks) for (const tx of block.tx) this.rows.set(tx.txid, { block, tx });
  }

  get tip(): NodeBlock {
    return this.blocks.at(-1)!;
  }

  spent(vin: NodeTransaction['vin'][number]): NodeOutput | null {
    return vin.txid === undefined ? null : (this.rows.get(vin.txid)?.tx.vout[vin.vout!] ?? null);
  }

  /** Lists the transactions that pay or spend a script, newest first. */
  of(isScript: (hex: string) => boolean): Row[] {
    return [...this.rows.values()]
      .filter(
        ({ tx }) =>
          tx.vout.some(({ scriptPubKey }) => isScript(scriptPubKey.hex)) ||
          tx.vin.some((vin) => isScript(this.spent(vin)?.scriptPubKey.hex ?? '')),
      )
      .reverse();
  }

  sums(rows: readonly Row[], isScript: (hex: string) => boolean): { received: bigint; sent: bigint } {
    let received = 0n;
    let sent = 0n;
    for (const { tx } of rows) {
      for (const { value, scriptPubKey } of tx.vout)
        if (isScript(scriptPubKey.hex)) received += satoshi(value);
      for (const vin of tx.vin) {
        const spent = this.spent(vin);
        if (spent !== null && isScript(spent.scriptPubKey.hex)) sent += satoshi(spent.value);
      }
    }
    return { received, sent };
  }
}

type Answer = { readonly status: number; readonly body: string };
const json = (value: unknown): Answer => ({
  status: 200,
  body: JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? Number(part) : part)),
});
const text = (body: string | number): Answer => ({ status: 200, body: String(body) });

async function serve(
  node: BitcoinNode,
  answer: (view: View, url: URL, explorer: Explorer) => Answer,
): Promise<Explorer> {
  const read = chainOfNode(node);
  const explorer = { pageRows: 25, requests: [] as string[] };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://explorer');
    explorer.requests.push(`${url.pathname}${url.search}`);
    void read()
      .then((blocks) => answer(new View(blocks), url, explorer as unknown as Explorer))
      .catch((error: unknown) => ({ status: 500, body: String(error) }))
      .then(({ status, body }) => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(explorer, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
}

// --- Esplora ----------------------------------------------------------------------------------------------------------

const scriptHash = (hex: string): string =>
  createHash('sha256').update(Buffer.from(hex, 'hex')).digest('hex');

const esploraOutput = ({ value, scriptPubKey }: NodeOutput) => ({
  scriptpubkey: scriptPubKey.hex,
  scriptpubkey_type: scriptPubKey.type,
  value: satoshi(value),
});

const esploraTransaction = (view: View, { block, tx }: Row) => ({
  txid: tx.txid,
  version: 2,
  locktime: 0,
  vin: tx.vin.map((vin) => {
    const spent = view.spent(vin);
    return {
      txid: vin.txid ?? '0'.repeat(64),
      vout: vin.vout ?? 0xffff_ffff,
      prevout: spent === null ? null : esploraOutput(spent),
      is_coinbase: vin.coinbase !== undefined,
      sequence: 0xffff_fffe,
    };
  }),
  vout: tx.vout.map(esploraOutput),
  status: { confirmed: true, block_height: block.height, block_hash: block.hash, block_time: block.time },
});

/** Starts an Esplora server below `/api`. */
export const startEsplora = (node: BitcoinNode): Promise<Explorer> =>
  serve(node, (view, { pathname }, { pageRows }) => {
    const [, , what = '', id = '', ...more] = pathname.split('/');
    const missing = (reason: string): Answer => ({ status: 404, body: reason });
    if (what === 'blocks')
      return text(more[0] === undefined && id === 'tip' ? '' : view.tip[more[0] as 'hash']);
    if (what === 'block-height') {
      const block = view.blocks[Number(id)];
      return block === undefined ? missing('Block not found') : text(block.hash);
    }
    if (what === 'block') {
      const block = view.blocks.find(({ hash }) => hash === id);
      if (block === undefined) return missing('Block not found');
      if (more[0] === 'txs') {
        const rows = block.tx.map((tx) => esploraTransaction(view, { block, tx }));
        return json(rows.slice(Number(more[1] ?? 0)).slice(0, pageRows));
      }
      return json({
        id: block.hash,
        height: block.height,
        timestamp: block.time,
        tx_count: block.tx.length,
        previousblockhash: block.previousblockhash ?? null,
      });
    }
    if (what === 'tx') {
      const row = view.rows.get(id);
      if (row === undefined) return missing('Transaction not found');
      return json(esploraTransaction(view, row).status);
    }
    if (what === 'scripthash') {
      const isScript = (hex: string): boolean => scriptHash(hex) === id;
      const rows = view.of(isScript);
      if (more[0] === undefined) {
        const { received, sent } = view.sums(rows, isScript);
        return json({
          chain_stats: { funded_txo_sum: received, spent_txo_sum: sent, tx_count: rows.length },
          mempool_stats: { funded_txo_sum: 0, spent_txo_sum: 0, tx_count: 0 },
        });
      }
      // electrs: the rows behind the last one seen, or none if that one is unknown.
      const seen = more[2];
      const start = seen === undefined ? 0 : rows.findIndex(({ tx }) => tx.txid === seen) + 1;
      const rest = seen !== undefined && start === 0 ? [] : rows.slice(start);
      return json(rest.slice(0, pageRows).map((row) => esploraTransaction(view, row)));
    }
    return missing('no such path');
  }).then((explorer) => Object.assign(explorer, { url: `${explorer.url}/api` }));

// --- Blockbook --------------------------------------------------------------------------------------------------------

/** Starts a Blockbook server. */
export function startBlockbook(node: BitcoinNode, chain: ChainId): Promise<Explorer> {
  const scripts = new ScriptReader(chain);
  const addressOf = (hex: string): string | null => scripts.read(Buffer.from(hex, 'hex')).address;
  const part = (hex: string | null) => {
    const address = hex === null ? null : addressOf(hex);
    return address === null ? { isAddress: false } : { addresses: [address], isAddress: true };
  };
  const amount = (value: number): string => satoshi(value).toString();
  const transaction = (view: View, { block, tx }: Row) => ({
    txid: tx.txid,
    vin: tx.vin.map((vin, n) => {
      const spent = view.spent(vin);
      return {
        n,
        ...(vin.coinbase === undefined ? { txid: vin.txid } : { coinbase: vin.coinbase }),
        ...(vin.vout ? { vout: vin.vout } : {}),
        ...part(spent?.scriptPubKey.hex ?? null),
        ...(spent === null ? {} : { value: amount(spent.value) }),
      };
    }),
    vout: tx.vout.map(({ n, value, scriptPubKey: { hex } }) => ({
      n,
      value: amount(value),
      hex,
      ...part(hex),
    })),
    blockHash: block.hash,
    blockHeight: block.height,
    confirmations: view.tip.height - block.height + 1,
    blockTime: block.time,
  });
  const refused = (error: string): Answer => ({ status: 400, body: JSON.stringify({ error }) });

  return serve(node, (view, { pathname, searchParams }, { pageRows }) => {
    const [, , , what = '', id = ''] = pathname.split('/').map(decodeURIComponent);
    const page = Number(searchParams.get('page') ?? 1);
    if (what === '') return json({ blockbook: { bestHeight: view.tip.height, inSync: true }, backend: {} });
    if (what === 'block-index') {
      const block = view.blocks[Number(id)];
      return block === undefined ? refused('Block not found') : json({ blockHash: block.hash });
    }
    if (what === 'block') {
      const block = view.blocks.find(({ hash }) => hash === id);
      if (block === undefined) return refused('Block not found');
      const first = (page - 1) * pageRows;
      return json({
        page,
        totalPages: Math.ceil(block.tx.length / pageRows),
        itemsOnPage: pageRows,
        hash: block.hash,
        previousBlockHash: block.previousblockhash ?? undefined,
        height: block.height,
        time: block.time,
        txCount: block.tx.length,
        txs: block.tx.slice(first, first + pageRows).map(({ txid }) => ({ txid })),
      });
    }
    if (what === 'tx') {
      const row = view.rows.get(id);
      return row === undefined ? refused(`Transaction '${id}' not found`) : json(transaction(view, row));
    }
    if (what === 'address') {
      const isScript = (hex: string): boolean => addressOf(hex) === id;
      const all = view.of(isScript);
      const { received, sent } = view.sums(all, isScript);
      const from = Number(searchParams.get('from') ?? 0);
      const to = Number(searchParams.get('to') ?? 0) || Number.MAX_SAFE_INTEGER;
      const size = Math.min(pageRows, Number(searchParams.get('pageSize') ?? pageRows));
      const rows = all.filter(({ block }) => block.height >= from && block.height <= to);
      // Past the last page, the server sends the last one.
      const at = Math.max(1, Math.min(page, Math.ceil(rows.length / size)));
      return json({
        page: at,
        totalPages: -1,
        itemsOnPage: size,
        address: id,
        balance: (received - sent).toString(),
        txs: all.length,
        ...(searchParams.get('details') === 'txs'
          ? { transactions: rows.slice((at - 1) * size, at * size).map((row) => transaction(view, row)) }
          : {}),
      });
    }
    return { status: 404, body: '404 page not found' };
  });
}
