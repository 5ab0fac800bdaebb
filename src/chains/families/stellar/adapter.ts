/**
 * Stellar over Horizon (developers.stellar.org, "Horizon API"): accounts, ledgers, payments, and the effects of account merges, which
 * are the only source for the merged amount. A path payment has the amount that arrived.
 */
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asArray,
  asCount,
  asDecimalAmount,
  asIsoMs,
  asObject,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { rest, restRequest } from '../../endpoints/rest.ts';
import {
  addressOrNull,
  asAddressOf,
  asPattern,
  type ChainReader,
  type HistoryRow,
  openAccountChain,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import type { Call, OpenAdapter } from '../port.ts';

const LAYOUTS = ['horizon'] as const;
const DECIMALS = 7;
const PASSPHRASE = 'Public Global Stellar Network ; September 2015';
const PAGE_MAX = 200;
/** A ledger has at most 1,000 operations (2026), each with at most a few contract payments. */
const LEDGER_PAGES_MAX = 50;
const NOT_READ =
  'Claimable balances, shares of liquidity pools and tokens that exist only in contracts are not read.';
const CUT = 'The server has only a part of the history.';
/** Ledgers before this one have no operations. */
const FIRST_LEDGERS = 3;
/**
 * Operation types that the payments list covers completely, and those that move nothing to anyone. All other types may move value that
 * is not read: the entry of a contract call includes assets of the ledger, but not tokens that exist only in contracts.
 */
const KNOWN_KINDS: ReadonlySet<Json | undefined> = new Set([
  'create_account',
  'payment',
  'path_payment',
  'path_payment_strict_receive',
  'path_payment_strict_send',
  'account_merge',
  'manage_offer',
  'manage_buy_offer',
  'manage_sell_offer',
  'create_passive_offer',
  'create_passive_sell_offer',
  'set_options',
  'change_trust',
  'allow_trust',
  'set_trust_line_flags',
  'manage_data',
  'bump_sequence',
  'begin_sponsoring_future_reserves',
  'end_sponsoring_future_reserves',
  'revoke_sponsorship',
  'extend_footprint_ttl',
  'restore_footprint',
]);

const verify = restRequest<void>({
  path: '',
  layouts: LAYOUTS,
  read(json) {
    const passphrase = asObject(json, 'answer').network_passphrase;
    if (typeof passphrase !== 'string') throw badAnswer('network_passphrase', 'a text');
    if (passphrase !== PASSPHRASE)
      throw new AssayError(
        'CHAIN_MISMATCH',
        `An endpoint of XLM serves the network '${passphrase.slice(0, 60)}'.`,
      );
  },
});

const recordsOf = (json: Json): readonly JsonObject[] =>
  asArray(asObject(asObject(json, 'answer')._embedded, '_embedded').records, 'records', PAGE_MAX).map((row) =>
    asObject(row, 'record'),
  );

const asHash = (value: Json | undefined, field: string): string => asPattern(value, /^[0-9a-f]{64}$/, field);

/** Parses an operation id (SEP-35): the ledger in the upper 32 bits, then 20 bits for the transaction, then 12 for the operation. */
function readOperationId(value: Json | undefined): {
  readonly id: string;
  readonly ledger: number;
  readonly index: number;
} {
  const id = asPattern(value, /^\d{1,19}$/, 'id');
  const number = BigInt(id);
  return { id, ledger: Number(number >> 32n), index: Number(number & 0xfffn) };
}

const idOf = (value: Json | undefined): bigint => BigInt(asPattern(value, /^\d{1,19}$/, 'id'));

function assetOf(row: JsonObject): { readonly asset?: string; readonly decimals?: number } {
  if (row.asset_type === 'native') return {};
  const code = asPattern(row.asset_code, /^[A-Za-z0-9]{1,12}$/, 'asset_code');
  return { asset: `${code}:${asAddressOf('XLM', row.asset_issuer, 'asset_issuer')}`, decimals: DECIMALS };
}

interface Merge {
  readonly operation: string;
  readonly row: JsonObject;
}

function readLedger(json: Json) {
  const ledger = asObject(json, 'ledger');
  const sequence = asCount(ledger.sequence, 'sequence');
  return {
    height: sequence,
    hash: asHash(ledger.hash, 'hash'),
    parentHash: sequence <= 1 ? null : asHash(ledger.prev_hash, 'prev_hash'),
    timestampMs: asIsoMs(ledger.closed_at, 'closed_at'),
  };
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class StellarReader implements ChainReader {
  readonly #pool: EndpointPool;

  constructor(pool: EndpointPool) {
    this.#pool = pool;
  }

  /** Returns the amount that a merge moved: the credit of the receiving account. */
  async #mergedAmount({ operation, row }: Merge, call: Call): Promise<bigint> {
    const into = asAddressOf('XLM', row.into, 'into');
    const { value } = await rest(
      this.#pool,
      {
        path: `operations/${operation}/effects`,
        query: { limit: String(PAGE_MAX) },
        layouts: LAYOUTS,
        read: (json) => {
          const credit = recordsOf(json).find(
            (effect) => effect.type === 'account_credited' && effect.account === into,
          );
          if (credit === undefined) throw badAnswer('effects', 'with the credit of a merge');
          return asDecimalAmount(credit.amount, DECIMALS, 'amount');
        },
      },
      call,
    );
    return value;
  }

  async #rowOf(row: JsonObject, call: Call): Promise<HistoryRow> {
    const { id, ledger, index } = readOperationId(row.id);
    // The source account of an operation signs it.
    const sender = addressOrNull('XLM', row.source_account);
    const { list, add } = transfersOf('XLM', {
      txHash: asHash(row.transaction_hash, 'transaction_hash'),
      call: sender === null ? null : { sender },
      blockNumber: ledger,
      timestampMs: asIsoMs(row.created_at, 'created_at'),
    });
    const position = `op:${index}`;
    const amount = (name: string): bigint => asDecimalAmount(row[name], DECIMALS, name);
    const party = (name: string): string => asAddressOf('XLM', row[name], name);
    if (row.transaction_successful === false) return { height: ledger, transfers: [] };
    if (row.type === 'create_account')
      add({ position, from: party('funder'), to: party('account'), amount: amount('starting_balance') });
    else if (row.type === 'account_merge')
      add({
        position,
        from: party('account'),
        to: party('into'),
        amount: await this.#mergedAmount({ operation: id, row }, call),
      });
    else if (row.type === 'invoke_host_function')
      for (const [place, value] of asArray(
        row.asset_balance_changes ?? [],
        'asset_balance_changes',
        1_000,
      ).entries()) {
        const change = asObject(value, 'asset_balance_changes');
        // Contracts are not accounts: a change with a contract has only one known party.
        const from = addressOrNull('XLM', change.from);
        const to = addressOrNull('XLM', change.to);
        const moved = asDecimalAmount(change.amount, DECIMALS, 'amount');
        add({ position: `${position}:${place}`, from, to, amount: moved, ...assetOf(change) });
      }
    else if (
      row.type === 'payment' ||
      row.type === 'path_payment_strict_receive' ||
      row.type === 'path_payment_strict_send' ||
      row.type === 'path_payment'
    )
      add({ position, from: party('from'), to: party('to'), amount: amount('amount'), ...assetOf(row) });
    return { height: ledger, transfers: list };
  }

  async #ledgerAt(height: number, call: Call) {
    return rest<ReturnType<typeof readLedger> | null>(
      this.#pool,
      {
        path: `ledgers/${height}`,
        layouts: LAYOUTS,
        missing: null,
        read: (json) => {
          const ledger = readLedger(json);
          if (ledger.height !== height) throw badAnswer('sequence', `the requested ${height}`);
          return ledger;
        },
      },
      call,
    );
  }

  #paymentsPage(path: string, query: Readonly<Record<string, string>>, call: Call) {
    return rest<readonly JsonObject[]>(
      this.#pool,
      { path, query, layouts: LAYOUTS, missing: [], read: recordsOf },
      call,
    );
  }

  /**
   * Checks whether a page of payments has all transfers: one page of all operations must reach as far down and contain only types that
   * `KNOWN_KINDS` lists. If the check fails, the page is only marked as incomplete.
   */
  async #isAll(
    address: string,
    page: { readonly start: string | null; readonly end: string | null; readonly isOldest: boolean },
    call: Call,
  ): Promise<'ALL' | 'KINDS' | 'CUT'> {
    const { start, end, isOldest } = page;
    const part: Call = { signal: call.signal, budgetMs: call.budgetMs / 2 };
    try {
      const [operations, elder] = await Promise.all([
        this.#paymentsPage(
          `accounts/${address}/operations`,
          { order: 'desc', limit: String(PAGE_MAX), ...(start === null ? {} : { cursor: start }) },
          part,
        ),
        isOldest
          ? rest(
              this.#pool,
              {
                path: '',
                layouts: LAYOUTS,
                read: (json) =>
                  asCount(asObject(json, 'answer').history_elder_ledger, 'history_elder_ledger'),
              },
              part,
            )
          : null,
      ]);
      const inside = operations.value.filter(({ id }) => end === null || idOf(id) >= BigInt(end));
      const reachesDown = operations.value.length < PAGE_MAX || inside.length < operations.value.length;
      if (!reachesDown || inside.some(({ type }) => !KNOWN_KINDS.has(type))) return 'KINDS';
      return elder !== null && elder.value > FIRST_LEDGERS ? 'CUT' : 'ALL';
    } catch (error) {
      if (error instanceof AssayError && !call.signal.aborted) return 'KINDS';
      throw error;
    }
  }

  async balance(address: string, call: Call) {
    return rest<bigint>(
      this.#pool,
      {
        path: `accounts/${address}`,
        layouts: LAYOUTS,
        missing: 0n,
        read(json) {
          const rows = asArray(asObject(json, 'account').balances, 'balances', 10_000);
          const native = rows
            .map((row) => asObject(row, 'balance'))
            .find((row) => row.asset_type === 'native');
          if (native === undefined) throw badAnswer('balances', 'with the native one');
          return asDecimalAmount(native.balance, DECIMALS, 'balance');
        },
      },
      call,
    );
  }

  readonly transactionCount = null;

  async rows(address: string, { cursor, size, from, to }: RowsQuery, call: Call) {
    if (cursor !== null && !/^\d{1,19}$/.test(cursor)) throw invalidCursor();
    // The cursor of an operation is its id, so a maximum height also converts to a cursor.
    const start = cursor ?? (to === null ? null : String((BigInt(to) + 1n) << 32n));
    const sourced = await this.#paymentsPage(
      `accounts/${address}/payments`,
      { order: 'desc', limit: String(size), ...(start === null ? {} : { cursor: start }) },
      call,
    );
    const wanted = sourced.value.filter(({ id }) => from === null || readOperationId(id).ledger >= from);
    const last = sourced.value.at(-1);
    const isPast = wanted.length < sourced.value.length;
    const next =
      last === undefined || sourced.value.length < size || isPast
        ? null
        : asPattern(last.paging_token, /^\d{1,19}$/, 'paging_token');
    const floor = from === null ? null : String(BigInt(from) << 32n);
    const end = next ?? floor;
    const reach = this.#isAll(address, { start, end, isOldest: next === null && from === null }, call);
    // The result is awaited below: until then a rejection would be unhandled.
    reach.catch(() => {});
    const rows: HistoryRow[] = [];
    for (const row of wanted) rows.push(await this.#rowOf(row, call));
    const reached = await reach;
    const note = reached === 'ALL' ? {} : { note: reached === 'CUT' ? CUT : NOT_READ };
    return { ...sourced, ...note, value: { rows, next } };
  }

  async head(call: Call) {
    const sourced = await rest(
      this.#pool,
      {
        path: 'ledgers',
        query: { order: 'desc', limit: '1' },
        layouts: LAYOUTS,
        read: (json) => {
          const [newest] = recordsOf(json);
          if (newest === undefined) throw badAnswer('records', 'with a ledger');
          return readLedger(newest);
        },
      },
      call,
    );
    const { height, hash, timestampMs } = sourced.value;
    return { ...sourced, height, value: { height, hash, timestampMs } };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const sourced = await this.#ledgerAt(height, call);
    if (sourced.value === null) return { ...sourced, value: null };
    const { hash, parentHash, timestampMs } = sourced.value;
    const rows: HistoryRow[] = [];
    for (let cursor: string | null = '', pages = 0; cursor !== null; pages++) {
      if (pages === LEDGER_PAGES_MAX) throw badAnswer('records', 'a list of limited length');
      const page: Sourced<readonly JsonObject[]> = await this.#paymentsPage(
        `ledgers/${height}/payments`,
        { order: 'asc', limit: String(PAGE_MAX), ...(cursor === '' ? {} : { cursor }) },
        call,
      );
      for (const row of page.value) {
        const read = await this.#rowOf(row, call);
        if (read.height !== height) throw badAnswer('id', `an operation of ledger ${height}`);
        rows.push({ ...read, transfers: read.transfers.map((each) => ({ ...each, timestampMs })) });
      }
      const last = page.value.at(-1);
      cursor =
        last === undefined || page.value.length < PAGE_MAX
          ? null
          : asPattern(last.paging_token, /^\d{1,19}$/, 'paging_token');
    }
    return {
      ...sourced,
      height,
      note: NOT_READ,
      value: {
        chain: 'XLM',
        height,
        hash,
        parentHash,
        timestampMs,
        transfers: rows.flatMap(({ transfers }) => transfers),
      },
    };
  }

  async hashAt(height: number, call: Call) {
    return (await this.#ledgerAt(height, call)).value?.hash ?? null;
  }
}

/** Opens the adapter of Stellar. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: LAYOUTS, count: [], history: LAYOUTS, block: LAYOUTS },
      verify,
      pollPublicMs: 5_000,
      reader: (pool) => new StellarReader(pool),
    },
    options,
    deps,
  );
