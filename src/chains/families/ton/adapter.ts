/**
 * TON over the API v3 of toncenter (toncenter.com/api/v3). Heights are those of the masterchain, and its blocks are final. A transfer
 * is a message that carries value, or a transfer of jettons. Its txHash is the trace it belongs to, because sender and receiver have
 * different transactions: both sides then produce the same transfer. Its height is that of the masterchain block in which it arrived,
 * or of the sender's transaction if only that one is known. A message that the receiver bounced is not a transfer, and neither is the
 * message that returned the value.
 */
import { AssayError } from '../../../base/errors.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  asSecondsMs,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { apiKeyHeader, readWindows, rest, restRequest, type WindowList } from '../../endpoints/rest.ts';
import type { Transfer } from '../../transfer.ts';
import {
  addressOrNull,
  asAddressOf,
  asPattern,
  type ChainReader,
  decimalsOrNull,
  type HistoryRow,
  openAccountChain,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import { orUnknown } from '../asset-decimals.ts';
import type { Call, OpenAdapter } from '../port.ts';

const LAYOUTS = ['toncenter'] as const;
const MASTERCHAIN = -1;
const MAINNET_GLOBAL_ID = -239;
const PAGE_MAX = 1_000;
const BLOCK_PAGES_MAX = 100;
const MESSAGES_MAX = 1_000;
/** Number of parallel requests for the transactions of jetton transfers. */
const HASHES_AT_ONCE = 8;
/** The masterchain includes shard blocks some seconds later, with varying delay: rows in time order may deviate by this many blocks. */
const OVERLAP_BLOCKS = 16;

/** Seconds after which no message can bounce any more: two hops of some seconds each, or minutes if shards are behind. */
const BOUNCE_SECONDS = 300;

const headersFor = apiKeyHeader('X-API-Key');

const verify = restRequest<void>({
  path: 'masterchainInfo',
  layouts: LAYOUTS,
  headersFor,
  read(json) {
    const last = asObject(asObject(json, 'answer').last, 'last');
    if (last.workchain !== MASTERCHAIN) throw badAnswer('workchain', 'that of the masterchain');
    const id = last.global_id;
    if (typeof id !== 'number') throw badAnswer('global_id', 'a number');
    if (id !== MAINNET_GLOBAL_ID)
      throw new AssayError('CHAIN_MISMATCH', `An endpoint of TON serves the network ${id}.`);
  },
});

/** Converts 32 bytes from base64 to hex. */
const asHash = (value: Json | undefined, field: string): string =>
  Buffer.from(asPattern(value, /^[A-Za-z0-9+/]{43}=$/, field), 'base64').toString('hex');

const party = (value: Json | undefined): string | null => addressOrNull('TON', value);

interface Wire {
  readonly hash: string;
  readonly height: number;
  readonly timestampMs: number;
  readonly account: string;
  readonly fields: JsonObject;
}

function readTransaction(value: Json): Wire {
  const fields = asObject(value, 'transaction');
  return {
    hash: asHash(fields.hash, 'hash'),
    height: asCount(fields.mc_block_seqno, 'mc_block_seqno'),
    timestampMs: asSecondsMs(fields.now, 'now'),
    account: asAddressOf('TON', fields.account, 'account'),
    fields,
  };
}

const outMessages = (tx: Wire): readonly JsonObject[] =>
  asArray(tx.fields.out_msgs ?? [], 'out_msgs', MESSAGES_MAX).map((value) => asObject(value, 'message'));
const inMessage = (tx: Wire): JsonObject | null =>
  tx.fields.in_msg === undefined || tx.fields.in_msg === null ? null : asObject(tx.fields.in_msg, 'in_msg');

/** Returns whether a transaction bounced its message: the contract rejected it, and the rest of the value is returned automatically. */
function sentBack({ fields }: Wire): boolean {
  const { description } = fields;
  if (typeof description !== 'object' || description === null) return false;
  const { bounce } = asObject(description, 'description');
  return typeof bounce === 'object' && bounce !== null && asObject(bounce, 'bounce').type === 'ok';
}

/** Returns the hashes of messages from these transactions of one account that bounced back to it (minus fees). */
function returnedMessages(transactions: readonly Wire[]): ReadonlySet<string> {
  const traceOf = (tx: Wire): string => String(tx.fields.trace_id ?? tx.hash);
  const amountOf = (message: JsonObject): bigint => asAmount(message.value ?? 0, 'value');
  const returned = new Set<string>();
  for (const tx of transactions) {
    const back = inMessage(tx);
    if (back?.bounced !== true) continue;
    const [sent] = transactions
      .filter((other) => traceOf(other) === traceOf(tx))
      .flatMap(outMessages)
      .filter(
        (message) =>
          party(message.destination) === party(back.source) &&
          amountOf(message) >= amountOf(back) &&
          !returned.has(asHash(message.hash, 'message.hash')),
      )
      .sort((a, b) => (amountOf(a) < amountOf(b) ? -1 : 1));
    if (sent !== undefined) returned.add(asHash(sent.hash, 'message.hash'));
  }
  return returned;
}

/** Returns the value that messages of a transaction carried: the incoming one, and if `returned` is given, the outgoing ones. */
function messageTransfers(
  tx: Wire,
  returned: ReadonlySet<string> | null,
  timestampMs = tx.timestampMs,
): readonly Transfer[] {
  const { fields, height } = tx;
  const trace = fields.trace_id;
  const txHash = trace === undefined || trace === null ? tx.hash : asHash(trace, 'trace_id');
  const { list, add } = transfersOf('TON', { txHash, blockNumber: height, timestampMs });
  const tell = (message: JsonObject): void => {
    // External messages carry no value.
    if (typeof message.source !== 'string' || typeof message.destination !== 'string') return;
    const amount = asAmount(message.value ?? 0, 'value');
    if (amount === 0n || message.bounced === true) return;
    add({
      position: `msg:${asHash(message.hash, 'message.hash').slice(0, 40)}`,
      from: party(message.source),
      to: party(message.destination),
      amount,
    });
  };
  const came = inMessage(tx);
  if (came !== null && !sentBack(tx)) tell(came);
  if (returned === null) return list;
  for (const message of outMessages(tx)) {
    if (returned.has(asHash(message.hash, 'message.hash'))) continue;
    // A message to the account itself is reported by the transaction that receives it.
    if (party(message.destination) !== tx.account) tell(message);
  }
  return list;
}

interface Jetton {
  readonly hash: string;
  readonly timestampMs: number;
  readonly fields: JsonObject;
}

function readJetton(value: Json): Jetton {
  const fields = asObject(value, 'jetton transfer');
  return {
    hash: asHash(fields.transaction_hash, 'transaction_hash'),
    timestampMs: asSecondsMs(fields.transaction_now, 'transaction_now'),
    fields,
  };
}

function jettonTransfers(row: Jetton, height: number, timestampMs = row.timestampMs): readonly Transfer[] {
  const { fields, hash } = row;
  const asset = addressOrNull('TON', fields.jetton_master);
  // A contract that only imitates a jetton wallet has no master that knows it: its transfers are ignored.
  if (fields.transaction_aborted === true || asset === null) return [];
  const trace = fields.trace_id;
  const { list, add } = transfersOf('TON', {
    txHash: trace === undefined || trace === null ? hash : asHash(trace, 'trace_id'),
    blockNumber: height,
    timestampMs,
  });
  add({
    position: `jetton:${hash.slice(0, 40)}`,
    from: party(fields.source),
    to: party(fields.destination),
    amount: asAmount(fields.amount, 'amount'),
    asset,
  });
  return list;
}

interface Header {
  readonly height: number;
  readonly hash: string;
  readonly timestampMs: number;
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class TonReader implements ChainReader {
  readonly #pool: EndpointPool;

  constructor(pool: EndpointPool) {
    this.#pool = pool;
  }

  #get<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    read: (answer: JsonObject) => T,
    call: Call,
  ) {
    return rest(
      this.#pool,
      { path, query, layouts: LAYOUTS, headersFor, read: (json) => read(asObject(json, 'answer')) },
      call,
    );
  }

  #readHeader(value: Json): Header {
    const block = asObject(value, 'block');
    return {
      height: asCount(block.seqno, 'seqno'),
      hash: asHash(block.root_hash, 'root_hash'),
      timestampMs: asSecondsMs(block.gen_utime, 'gen_utime'),
    };
  }

  #headerAt(height: number, call: Call): Promise<Sourced<Header | null>> {
    return this.#get(
      'blocks',
      { workchain: '-1', shard: '8000000000000000', seqno: String(height), limit: '1' },
      (answer) => {
        const [block] = asArray(answer.blocks, 'blocks', 1);
        if (block === undefined) return null;
        const header = this.#readHeader(block);
        if (header.height !== height) throw badAnswer('seqno', `the requested ${height}`);
        return header;
      },
      call,
    );
  }

  async #transactionsOfBlock(height: number, call: Call): Promise<readonly Wire[]> {
    const found: Wire[] = [];
    for (let page = 0; page < BLOCK_PAGES_MAX; page++) {
      const { value } = await this.#get(
        'transactionsByMasterchainBlock',
        { seqno: String(height), limit: String(PAGE_MAX), offset: String(page * PAGE_MAX), sort: 'asc' },
        (answer) => asArray(answer.transactions, 'transactions', PAGE_MAX).map(readTransaction),
        call,
      );
      found.push(...value);
      if (value.length < PAGE_MAX) return found;
    }
    throw badAnswer('transactions', 'a list of limited length');
  }

  /** Returns the transactions of an address right after a page that is not the newest: messages of the page may have bounced there. */
  async #transactionsAfter(
    address: string,
    cursor: string | null,
    page: readonly Wire[],
    call: Call,
  ): Promise<readonly Wire[]> {
    const end = Number(cursor);
    const isNear = (tx: Wire): boolean =>
      tx.timestampMs / 1000 > end - BOUNCE_SECONDS && outMessages(tx).length > 0;
    if (cursor === null || !page.some(isNear)) return [];
    const { value } = await this.#get(
      'transactions',
      {
        account: address,
        start_utime: String(end + 1),
        end_utime: String(end + BOUNCE_SECONDS),
        limit: String(PAGE_MAX),
        sort: 'asc',
      },
      (answer) => asArray(answer.transactions, 'transactions', PAGE_MAX).map(readTransaction),
      call,
    );
    return value;
  }

  /** Returns the jetton transfers among the transactions of a block. */
  async #jettonsOfBlock(transactions: readonly Wire[], call: Call): Promise<readonly Jetton[]> {
    if (transactions.length === 0) return [];
    const hashes = new Set(transactions.map(({ hash }) => hash));
    const seconds = transactions.map(({ timestampMs }) => timestampMs / 1000);
    const found: Jetton[] = [];
    for (let page = 0; page < BLOCK_PAGES_MAX; page++) {
      const { value } = await this.#get(
        'jetton/transfers',
        {
          start_utime: String(Math.min(...seconds)),
          end_utime: String(Math.max(...seconds)),
          limit: String(PAGE_MAX),
          offset: String(page * PAGE_MAX),
          sort: 'asc',
        },
        (answer) => asArray(answer.jetton_transfers, 'jetton_transfers', PAGE_MAX).map(readJetton),
        call,
      );
      found.push(...value.filter(({ hash }) => hashes.has(hash)));
      if (value.length < PAGE_MAX) return found;
    }
    throw badAnswer('jetton_transfers', 'a list of limited length');
  }

  /** Returns the masterchain heights of transactions by their hashes. */
  async #heightsOf(hashes: readonly string[], call: Call): Promise<ReadonlyMap<string, number>> {
    const heights = new Map<string, number>();
    for (let at = 0; at < hashes.length; at += HASHES_AT_ONCE) {
      const part = hashes.slice(at, at + HASHES_AT_ONCE);
      const requests = part.map((hash) =>
        this.#get(
          'transactions',
          { hash, limit: '1' },
          (answer) => {
            const [value] = asArray(answer.transactions, 'transactions', 1);
            const tx = value === undefined ? null : readTransaction(value);
            if (tx === null || tx.hash !== hash) throw badAnswer('transactions', 'the requested one');
            heights.set(hash, tx.height);
          },
          call,
        ),
      );
      await Promise.all(requests);
    }
    return heights;
  }

  async balance(address: string, call: Call) {
    return this.#get(
      'accountStates',
      { address, include_boc: 'false' },
      (answer) => {
        const [account] = asArray(answer.accounts, 'accounts', 1);
        return account === undefined ? 0n : asAmount(asObject(account, 'account').balance ?? 0, 'balance');
      },
      call,
    );
  }

  readonly transactionCount = null;

  async rows(address: string, { cursor, size }: RowsQuery, call: Call) {
    let source = '';
    type Row = { readonly tx: Wire } | { readonly jetton: Jetton };
    const window = ({ min, max, size: limit }: Parameters<WindowList<unknown>>[0]) => ({
      ...(min === null ? {} : { start_utime: String(min) }),
      ...(max === null ? {} : { end_utime: String(max) }),
      limit: String(limit),
      sort: 'desc',
    });
    const transactions: WindowList<Row> = async (each) => {
      const sourced = await this.#get(
        'transactions',
        { account: address, ...window(each) },
        (answer) => asArray(answer.transactions, 'transactions', each.size).map(readTransaction),
        call,
      );
      source = sourced.source;
      return sourced.value.map((tx) => ({ key: tx.timestampMs / 1000, row: { tx } }));
    };
    const jettons: WindowList<Row> = async (each) => {
      const sourced = await this.#get(
        'jetton/transfers',
        { owner_address: address, ...window(each) },
        (answer) => asArray(answer.jetton_transfers, 'jetton_transfers', each.size).map(readJetton),
        call,
      );
      return sourced.value.map((jetton) => ({ key: jetton.timestampMs / 1000, row: { jetton } }));
    };
    const page = await readWindows([transactions, jettons], { cursor, size, min: null, max: null });
    const sent = page.rows.flatMap((row) => ('tx' in row ? row.tx : []));
    const returned = returnedMessages([
      ...sent,
      ...(await this.#transactionsAfter(address, cursor, sent, call)),
    ]);
    const unplaced = page.rows.flatMap((row) => ('jetton' in row ? row.jetton.hash : []));
    const heights = await this.#heightsOf([...new Set(unplaced)], call);
    const rows = page.rows.map((row): HistoryRow => {
      if ('tx' in row) return { height: row.tx.height, transfers: messageTransfers(row.tx, returned) };
      const height = heights.get(row.jetton.hash) as number;
      return { height, transfers: jettonTransfers(row.jetton, height) };
    });
    rows.sort((a, b) => b.height - a.height);
    return { value: { rows, next: page.next }, source, height: null };
  }

  async head(call: Call) {
    const sourced = await this.#get(
      'masterchainInfo',
      {},
      (answer) => this.#readHeader(answer.last as Json),
      call,
    );
    return { ...sourced, height: sourced.value.height };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const [own, below] = await Promise.all([
      this.#headerAt(height, call),
      height === 0 ? null : this.#headerAt(height - 1, call),
    ]);
    if (own.value === null) return { ...own, value: null };
    const { hash, timestampMs } = own.value;
    const transactions = await this.#transactionsOfBlock(height, call);
    if (transactions.some((tx) => tx.height !== height))
      throw badAnswer('mc_block_seqno', `the requested ${height}`);
    const jettons = await this.#jettonsOfBlock(transactions, call);
    const transfers = [
      ...transactions.flatMap((tx) => messageTransfers(tx, null, timestampMs)),
      ...jettons.flatMap((row) => jettonTransfers(row, height, timestampMs)),
    ];
    return {
      ...own,
      height,
      value: { chain: 'TON', height, hash, parentHash: below?.value?.hash ?? null, timestampMs, transfers },
    };
  }

  async hashAt(height: number, call: Call) {
    return (await this.#headerAt(height, call)).value?.hash ?? null;
  }

  /** Returns the decimals that the jetton master has on chain; masters with off-chain metadata stay unknown. */
  async decimalsOf(asset: string, call: Call) {
    const { value } = await this.#get(
      'jetton/masters',
      { address: asset, limit: '1' },
      orUnknown((answer: JsonObject) => {
        const master = asObject(asArray(answer.jetton_masters, 'jetton_masters', 1)[0], 'jetton_master');
        return asAddressOf('TON', master.address, 'address') === asset
          ? decimalsOrNull(asObject(master.jetton_content, 'jetton_content').decimals)
          : null;
      }),
      call,
    );
    return value;
  }
}

/** Opens the adapter of TON. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: LAYOUTS, count: [], history: LAYOUTS, block: LAYOUTS },
      verify,
      pollPublicMs: 3_000,
      rowsOverlapBlocks: OVERLAP_BLOCKS,
      reader: (pool) => new TonReader(pool),
    },
    options,
    deps,
  );
