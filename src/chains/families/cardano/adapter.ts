/**
 * Cardano over Koios (api.koios.rest) and Blockfrost (docs.blockfrost.io): two indexers with the same data in different formats. The
 * project key of Blockfrost is part of the URL: `blockfrost+https://project:KEY@cardano-mainnet.blockfrost.io/api/v0`.
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
import {
  asAddressOf,
  asPattern,
  decimalsOrNull,
  type HistoryRow,
  openAccountChain,
  type RowsQuery,
  type Sourced,
} from '../account-chain.ts';
import { orUnknown } from '../asset-decimals.ts';
import type { Call, OpenAdapter } from '../port.ts';
import { type AssetFlow, flowTransfers, type Output } from './flows.ts';

const KOIOS = ['koios'] as const;
const BLOCKFROST = ['blockfrost'] as const;
const ANY = ['koios', 'blockfrost'] as const;
const NETWORK_MAGIC = 764_824_073;
const PAGE_MAX = 100;
const BLOCK_TRANSACTIONS_MAX = 5_000;
const BLOCK_PAGES_MAX = 50;
const ASSETS_MAX = 2_000;
const OUTPUTS_MAX = 5_000;
/** Number of transactions per request to Koios, and of parallel requests (one per transaction) to Blockfrost. */
const KOIOS_AT_ONCE = 50;
const BLOCKFROST_AT_ONCE = 4;

const projectHeader = apiKeyHeader('project_id');

const verify = restRequest<void>({
  path: 'genesis',
  layouts: ANY,
  headersFor: (endpoint) => (endpoint.layout === 'blockfrost' ? projectHeader(endpoint) : {}),
  read(json, { layout }) {
    const [first] = layout === 'koios' ? asArray(json, 'genesis', 4) : [json];
    const fields = asObject(first, 'genesis');
    const magic = asCount(layout === 'koios' ? fields.networkmagic : fields.network_magic, 'network magic');
    if (magic !== NETWORK_MAGIC)
      throw new AssayError('CHAIN_MISMATCH', `An endpoint of ADA serves the network ${magic}.`);
  },
});

const asHash = (value: Json | undefined, field: string): string => asPattern(value, /^[0-9a-f]{64}$/, field);
const asUnit = (value: string, field: string): string => asPattern(value, /^[0-9a-f]{56,120}$/, field);

interface Header {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string | null;
  readonly timestampMs: number;
}

/** An entry of the transaction list of an address. */
interface Listed {
  readonly txHash: string;
  readonly height: number;
  readonly timestampMs: number;
}

/** The operations that both indexers implement. */
interface Indexer {
  header(height: number | null, call: Call): Promise<Sourced<Header | null>>;
  blockHashes(block: Header, call: Call): Promise<readonly string[]>;
  flows(txHashes: readonly string[], call: Call): Promise<ReadonlyMap<string, AssetFlow>>;
  balance(address: string, call: Call): Promise<Sourced<bigint>>;
  /** Null if the transactions already include all known decimals. */
  readonly decimalsOf: ((unit: string, call: Call) => Promise<number | null>) | null;
  page(
    address: string,
    query: RowsQuery,
    call: Call,
  ): Promise<Sourced<{ rows: readonly Listed[]; next: string | null }>>;
}

/** A client for Koios. */
class Koios implements Indexer {
  readonly #pool: EndpointPool;

  constructor(pool: EndpointPool) {
    this.#pool = pool;
  }

  #ask<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    body: Json | undefined,
    read: (rows: readonly JsonObject[]) => T,
    call: Call,
  ) {
    return rest(
      this.#pool,
      {
        path,
        query,
        ...(body === undefined ? {} : { body }),
        layouts: KOIOS,
        read: (json) =>
          read(asArray(json, 'rows', BLOCK_TRANSACTIONS_MAX).map((row) => asObject(row, 'row'))),
      },
      call,
    );
  }

  #readOutput(value: Json, decimals: Map<string, number>): Output {
    const fields = asObject(value, 'output');
    const amounts = new Map([['', asAmount(fields.value, 'value')]]);
    for (const each of asArray(fields.asset_list ?? [], 'asset_list', ASSETS_MAX)) {
      const asset = asObject(each, 'asset');
      const unit = asUnit(`${String(asset.policy_id)}${String(asset.asset_name ?? '')}`, 'asset');
      amounts.set(unit, (amounts.get(unit) ?? 0n) + asAmount(asset.quantity, 'quantity'));
      const known = decimalsOrNull(asset.decimals);
      if (known !== null) decimals.set(unit, known);
    }
    return {
      address: asAddressOf('ADA', asObject(fields.payment_addr, 'payment_addr').bech32, 'bech32'),
      amounts,
    };
  }

  #readFlow(tx: JsonObject): AssetFlow {
    const decimals = new Map<string, number>();
    // If a script failed, the collateral was spent instead of the inputs.
    const failed = asArray(tx.plutus_contracts ?? [], 'plutus_contracts', OUTPUTS_MAX).some(
      (each) => asObject(each, 'plutus_contract').valid_contract === false,
    );
    const list = (name: string): Output[] =>
      asArray(tx[name] ?? [], name, OUTPUTS_MAX).map((each) => this.#readOutput(each, decimals));
    const returned = tx.collateral_output;
    const outputs = !failed
      ? list('outputs')
      : returned === null || returned === undefined
        ? []
        : [this.#readOutput(returned, decimals)];
    return { inputs: list(failed ? 'collateral_inputs' : 'inputs'), outputs, decimals };
  }

  async header(height: number | null, call: Call): Promise<Sourced<Header | null>> {
    const at = height === null ? { order: 'block_height.desc' } : { block_height: `eq.${height}` };
    const { value: hash, ...sourced } = await this.#ask(
      'blocks',
      { ...at, select: 'hash,block_height', limit: '1' },
      undefined,
      ([row]) => (row === undefined ? null : asHash(row.hash, 'hash')),
      call,
    );
    if (hash === null) return { ...sourced, value: null };
    return this.#ask(
      'block_info',
      {},
      { _block_hashes: [hash] },
      ([row]) => {
        if (row === undefined || row.hash !== hash) throw badAnswer('block_info', 'that of the block');
        const found = asCount(row.block_height, 'block_height');
        if (height !== null && found !== height) throw badAnswer('block_height', `the requested ${height}`);
        return {
          height: found,
          hash,
          parentHash: row.parent_hash === null ? null : asHash(row.parent_hash, 'parent_hash'),
          timestampMs: asSecondsMs(row.block_time, 'block_time'),
        };
      },
      call,
    );
  }

  async blockHashes({ hash }: Header, call: Call): Promise<readonly string[]> {
    const { value } = await this.#ask(
      'block_txs',
      {},
      { _block_hashes: [hash] },
      (rows) => rows.map((row) => asHash(row.tx_hash, 'tx_hash')),
      call,
    );
    return value;
  }

  async flows(txHashes: readonly string[], call: Call): Promise<ReadonlyMap<string, AssetFlow>> {
    const flows = new Map<string, AssetFlow>();
    for (let at = 0; at < txHashes.length; at += KOIOS_AT_ONCE) {
      const part = txHashes.slice(at, at + KOIOS_AT_ONCE);
      await this.#ask(
        'tx_info',
        {},
        {
          _tx_hashes: [...part],
          _inputs: true,
          _metadata: false,
          _assets: true,
          _withdrawals: false,
          _certs: false,
          _scripts: true,
          _bytecode: false,
        },
        (rows) => {
          for (const row of rows) flows.set(asHash(row.tx_hash, 'tx_hash'), this.#readFlow(row));
        },
        call,
      );
    }
    return flows;
  }

  readonly decimalsOf = null;

  balance(address: string, call: Call): Promise<Sourced<bigint>> {
    return this.#ask(
      'address_info',
      {},
      { _addresses: [address] },
      ([row]) => (row === undefined ? 0n : asAmount(row.balance, 'balance')),
      call,
    );
  }

  async page(
    address: string,
    { cursor, size, from, to }: RowsQuery,
    call: Call,
  ): Promise<Sourced<{ rows: readonly Listed[]; next: string | null }>> {
    let source = '';
    const list: WindowList<Listed> = async ({ min, max, size: limit }) => {
      const conditions = [
        ...(min === null ? [] : [`block_height.gte.${min}`]),
        ...(max === null ? [] : [`block_height.lte.${max}`]),
      ];
      const sourced = await this.#ask(
        'address_txs',
        {
          ...(conditions.length === 0 ? {} : { and: `(${conditions.join(',')})` }),
          order: 'block_height.desc,tx_hash.asc',
          limit: String(limit),
        },
        { _addresses: [address] },
        (rows) =>
          rows.map((row) => {
            const height = asCount(row.block_height, 'block_height');
            const timestampMs = asSecondsMs(row.block_time, 'block_time');
            return { key: height, row: { txHash: asHash(row.tx_hash, 'tx_hash'), height, timestampMs } };
          }),
        call,
      );
      source = sourced.source;
      return sourced.value;
    };
    const page = await readWindows([list], { cursor, size, min: from, max: to });
    return { value: page, source, height: null };
  }
}

interface CountingIndexer extends Indexer {
  transactionCount(address: string, call: Call): Promise<Sourced<number>>;
}

function createBlockfrost(pool: EndpointPool): CountingIndexer {
  const ask = <T>(
    path: string,
    query: Readonly<Record<string, string>>,
    missing: T,
    read: (json: Json) => T,
    call: Call,
  ) => rest<T>(pool, { path, query, layouts: BLOCKFROST, headersFor: projectHeader, missing, read }, call);
  const readAmounts = (value: Json | undefined): Map<string, bigint> => {
    const amounts = new Map<string, bigint>();
    for (const each of asArray(value, 'amount', ASSETS_MAX)) {
      const { unit, quantity } = asObject(each, 'amount');
      const name = unit === 'lovelace' ? '' : asUnit(String(unit), 'unit');
      amounts.set(name, (amounts.get(name) ?? 0n) + asAmount(quantity, 'quantity'));
    }
    return amounts;
  };
  const readFlow = (json: Json): AssetFlow => {
    const fields = asObject(json, 'utxos');
    const list = (name: string) =>
      asArray(fields[name], name, OUTPUTS_MAX).map((each) => asObject(each, name));
    // A collateral return is among the outputs only if the script failed.
    const outputs = list('outputs');
    const failed = outputs.length > 0 && outputs.every((each) => each.collateral === true);
    const side = (rows: readonly JsonObject[]): Output[] =>
      rows
        .filter((each) => each.reference !== true && (each.collateral === true) === failed)
        .map((each) => ({
          address: asAddressOf('ADA', each.address, 'address'),
          amounts: readAmounts(each.amount),
        }));
    return { inputs: side(list('inputs')), outputs: side(outputs), decimals: new Map() };
  };
  return {
    header: (height, call) =>
      ask<Header | null>(
        `blocks/${height ?? 'latest'}`,
        {},
        null,
        (json) => {
          const block = asObject(json, 'block');
          const found = asCount(block.height, 'height');
          if (height !== null && found !== height) throw badAnswer('height', `the requested ${height}`);
          return {
            height: found,
            hash: asHash(block.hash, 'hash'),
            parentHash: block.previous_block === null ? null : asHash(block.previous_block, 'previous_block'),
            timestampMs: asSecondsMs(block.time, 'time'),
          };
        },
        call,
      ),
    async blockHashes({ height }, call) {
      const hashes: string[] = [];
      for (let page = 1; page <= BLOCK_PAGES_MAX; page++) {
        const { value } = await ask<readonly string[]>(
          `blocks/${height}/txs`,
          { page: String(page), count: String(PAGE_MAX) },
          [],
          (json) => asArray(json, 'txs', PAGE_MAX).map((row) => asHash(row, 'tx')),
          call,
        );
        hashes.push(...value);
        if (value.length < PAGE_MAX) return hashes;
      }
      throw badAnswer('txs', 'a list of limited length');
    },
    async flows(txHashes, call) {
      const flows = new Map<string, AssetFlow>();
      for (let at = 0; at < txHashes.length; at += BLOCKFROST_AT_ONCE) {
        const asked = txHashes.slice(at, at + BLOCKFROST_AT_ONCE).map(async (hash) => {
          const { value } = await ask<AssetFlow | null>(`txs/${hash}/utxos`, {}, null, readFlow, call);
          if (value !== null) flows.set(hash, value);
        });
        await Promise.all(asked);
      }
      return flows;
    },
    transactionCount: (address, call) =>
      ask(
        `addresses/${address}/total`,
        {},
        0,
        (json) => asCount(asObject(json, 'total').tx_count, 'tx_count'),
        call,
      ),
    /** From the token registry, which anyone may write to and which wallets read. */
    async decimalsOf(unit, call) {
      const { value } = await ask<number | null>(
        `assets/${unit}`,
        {},
        null,
        orUnknown((json) => {
          const asset = asObject(json, 'asset');
          return asset.asset === unit ? decimalsOrNull(asObject(asset.metadata, 'metadata').decimals) : null;
        }),
        call,
      );
      return value;
    },
    balance: (address, call) =>
      ask(
        `addresses/${address}`,
        {},
        0n,
        (json) => readAmounts(asObject(json, 'address').amount).get('') ?? 0n,
        call,
      ),
    async page(address, { cursor, size, from, to }, call) {
      let source = '';
      const list: WindowList<Listed> = async ({ min, max, size: limit }) => {
        const rows: { key: number; row: Listed }[] = [];
        // A page has at most 100 rows; windows of one block request more.
        for (let page = 1; rows.length < limit; page++) {
          const count = Math.min(PAGE_MAX, limit);
          const sourced = await ask<typeof rows>(
            `addresses/${address}/transactions`,
            {
              order: 'desc',
              count: String(count),
              page: String(page),
              ...(min === null ? {} : { from: String(min) }),
              ...(max === null ? {} : { to: String(max) }),
            },
            [],
            (json) =>
              asArray(json, 'transactions', count).map((value) => {
                const row = asObject(value, 'transaction');
                const height = asCount(row.block_height, 'block_height');
                const timestampMs = asSecondsMs(row.block_time, 'block_time');
                return { key: height, row: { txHash: asHash(row.tx_hash, 'tx_hash'), height, timestampMs } };
              }),
            call,
          );
          source = sourced.source;
          rows.push(...sourced.value.slice(0, limit - rows.length));
          if (sourced.value.length < count) break;
        }
        return rows;
      };
      const page = await readWindows([list], { cursor, size, min: from, max: to });
      return { value: page, source, height: null };
    },
  };
}

function createReader(pool: EndpointPool) {
  const koios = new Koios(pool);
  const blockfrost = createBlockfrost(pool);
  const indexer = (): Indexer =>
    pool.reachable(KOIOS) || pool.endpoints.every(({ layout }) => layout === 'koios') ? koios : blockfrost;

  async function transfersOfAll(listed: readonly Listed[], call: Call): Promise<readonly HistoryRow[]> {
    const flows = await indexer().flows(
      listed.map(({ txHash }) => txHash),
      call,
    );
    return listed.map(({ txHash, height, timestampMs }) => {
      const flow = flows.get(txHash);
      // Listed by one response and missing in the next: the indexer rolled back a block in between.
      if (flow === undefined)
        throw new AssayError('CHAIN_REFUSED', `The indexer does not have the transaction ${txHash}.`);
      return { height, transfers: flowTransfers(flow, { txHash, blockNumber: height, timestampMs }) };
    });
  }

  return {
    balance: (address: string, call: Call) => indexer().balance(address, call),
    /** Only Blockfrost has counts. */
    transactionCount: (address: string, call: Call) => blockfrost.transactionCount(address, call),
    decimalsOf: async (unit: string, call: Call) => (await indexer().decimalsOf?.(unit, call)) ?? null,
    async rows(address: string, query: RowsQuery, call: Call) {
      const sourced = await indexer().page(address, query, call);
      return {
        ...sourced,
        value: { rows: await transfersOfAll(sourced.value.rows, call), next: sourced.value.next },
      };
    },
    async head(call: Call) {
      const sourced = await indexer().header(null, call);
      if (sourced.value === null) throw badAnswer('block', 'present');
      const { height, hash, timestampMs } = sourced.value;
      return { ...sourced, height, value: { height, hash, timestampMs } };
    },
    async block(height: number, call: Call): Promise<Sourced<Block | null>> {
      const sourced = await indexer().header(height, call);
      if (sourced.value === null) return { ...sourced, value: null };
      const { hash, parentHash, timestampMs } = sourced.value;
      const hashes = await indexer().blockHashes(sourced.value, call);
      const rows = await transfersOfAll(
        hashes.map((txHash) => ({ txHash, height, timestampMs })),
        call,
      );
      const transfers = rows.flatMap((row) => row.transfers);
      return {
        ...sourced,
        height,
        value: { chain: 'ADA', height, hash, parentHash, timestampMs, transfers },
      };
    },
    hashAt: async (height: number, call: Call) => (await indexer().header(height, call)).value?.hash ?? null,
  };
}

/** Opens the adapter of Cardano. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: ANY, count: BLOCKFROST, history: ANY, block: ANY },
      verify,
      pollPublicMs: 10_000,
      reader: createReader,
    },
    options,
    deps,
  );
