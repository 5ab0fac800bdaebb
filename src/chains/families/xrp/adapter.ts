/**
 * XRP Ledger over the JSON-RPC of rippled (xrpl.org, "HTTP / WebSocket APIs", API version 1): ledgers, `account_info`, `account_tx`.
 * The amount of a payment is its delivered amount and not its Amount, which a partial payment does not reach. Destination tags are not
 * part of an account and are not stored. Trades on the ledger's exchange are not transfers between two parties.
 */
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool, EndpointRequest } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  asText,
  asTimeMs,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import {
  addressOrNull,
  asAddressOf,
  asPattern,
  type HistoryRow,
  openAccountChain,
  type RowsPage,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import type { Call, OpenAdapter } from '../port.ts';

const LAYOUTS = ['rippled'] as const;
/** Seconds from 1970 to 2000, the epoch of the ledger. */
const RIPPLE_EPOCH_S = 946_684_800;
const MAINNET_NETWORK_ID = 0;
/**
 * Issued amounts have 15 significant digits and exponents from -96 to 80; units of 10^-15 represent any amount of 1 or more exactly.
 */
const ISSUED_DECIMALS = 15;
const AMOUNT_MAX = (1n << 256n) - 1n;
const LEDGER_TRANSACTIONS_MAX = 20_000;
const NODES_MAX = 10_000;
/** The server works but is overloaded, or has no ledger yet. */
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set([
  'slowDown',
  'tooBusy',
  'noNetwork',
  'noCurrent',
  'noClosed',
  'amendmentBlocked',
  'notReady',
]);

/** Builds one request. Error names in `answers` are converted to values; other errors are thrown. */
function request<T>(
  method: string,
  params: JsonObject,
  read: (result: JsonObject) => T,
  answers: Readonly<Record<string, T>> = {},
): EndpointRequest<T> {
  return {
    body: JSON.stringify({ method, params: [{ api_version: 1, ...params }] }),
    layouts: LAYOUTS,
    statuses: [400, 403, 503],
    read(answer, { source }) {
      if (answer.status !== 200)
        throw new AssayError('CHAIN_UNREACHABLE', `${source}: unexpected status ${answer.status}.`);
      const result = asObject(asObject(answer.json(), 'message').result, 'result');
      if (result.error === undefined) return read(result);
      const error = asText(result.error, 'error', 100);
      if (Object.hasOwn(answers, error)) return answers[error] as T;
      throw new AssayError(
        UNAVAILABLE_CODES.has(error) ? 'CHAIN_UNREACHABLE' : 'CHAIN_REFUSED',
        `${source} refused ${method}: ${error}.`,
      );
    },
  };
}

const verify = request('server_info', {}, (result) => {
  // Servers before 1.10 do not include the network.
  const id = asObject(result.info, 'info').network_id;
  if (id !== undefined && asCount(id, 'network_id') !== MAINNET_NETWORK_ID)
    throw new AssayError('CHAIN_MISMATCH', `An endpoint of XRP serves the network ${String(id)}.`);
});

const asHash = (value: Json | undefined, field: string): string =>
  asPattern(value, /^[0-9A-Fa-f]{64}$/, field).toUpperCase();

const closeTimeMs = (value: Json | undefined, field: string): number =>
  asTimeMs((asCount(value, field) + RIPPLE_EPOCH_S) * 1000, field);

/** Parses a decimal such as `12.5` or `1e-7` in units of 10^-15; truncates further digits, and caps amounts at 2^256 - 1. */
function issuedAmount(value: Json | undefined, field: string): bigint {
  const text = typeof value === 'number' ? String(value) : value;
  const parts =
    typeof text === 'string' && text.length <= 100
      ? /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text)
      : null;
  if (parts === null) throw badAnswer(field, 'an issued amount');
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  const shift = ISSUED_DECIMALS - fraction.length + Number(exponent);
  if (Math.abs(shift) > 200) throw badAnswer(field, 'an issued amount');
  const digits = BigInt(whole + fraction);
  const amount = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  return amount > AMOUNT_MAX ? AMOUNT_MAX : amount;
}

interface Value {
  readonly amount: bigint;
  readonly asset?: string;
  readonly decimals?: number | null;
}

/** Parses drops as a string, `{currency, issuer, value}`, or `{mpt_issuance_id, value}`. */
function readValue(value: Json | undefined, field: string): Value {
  if (typeof value === 'string' || typeof value === 'number') return { amount: asAmount(value, field) };
  const fields = asObject(value, field);
  if (fields.mpt_issuance_id !== undefined)
    return {
      asset: asPattern(fields.mpt_issuance_id, /^[0-9A-Fa-f]{48}$/, 'mpt_issuance_id').toUpperCase(),
      amount: asAmount(fields.value, `${field}.value`),
    };
  const currency = asPattern(fields.currency, /^(?:[\w?!@#$%^&*<>(){}[\]|]{3}|[0-9A-Fa-f]{40})$/, 'currency');
  const issuer = asAddressOf('XRP', fields.issuer, 'issuer');
  return {
    asset: `${currency.length === 40 ? currency.toUpperCase() : currency}.${issuer}`,
    amount: issuedAmount(fields.value, `${field}.value`),
    decimals: ISSUED_DECIMALS,
  };
}

/** Transaction types that move the delivered amount in the metadata. */
const DELIVERING = new Set(['Payment', 'AccountDelete']);
/** Transaction types that release the value in a ledger object, with the type of that object. */
const RELEASING: Readonly<Record<string, string>> = {
  EscrowFinish: 'Escrow',
  CheckCash: 'Check',
  PaymentChannelClaim: 'PayChannel',
};

/** Transaction types that move value in ways that are not parsed; results with one of them are marked as incomplete. */
const UNREAD: ReadonlySet<string> = new Set([
  'NFTokenAcceptOffer',
  'Clawback',
  'AMMClawback',
  'VaultClawback',
  'XChainClaim',
  'XChainAddClaimAttestation',
  'XChainAddAccountCreateAttestation',
]);
/** Flag of a payment that may deliver less than its Amount. */
const PARTIAL_PAYMENT = 0x0002_0000;

const MISSING =
  'What moved by sales of unique tokens, by clawbacks and bridges, and by partial payments of before 2014 is not known.';
/** The oldest ledger on any mainnet server: earlier ledgers were lost in 2012. */
const FIRST_LEDGER = 32_570;

/** Returns the transfers of a transaction; empty for failed ones and types that move nothing; null if it moved an unknown amount. */
function movesOf(tx: JsonObject, meta: JsonObject): readonly ({ from: string; to: string } & Value)[] | null {
  if (meta.TransactionResult !== 'tesSUCCESS') return [];
  const kind = asText(tx.TransactionType, 'TransactionType', 64);
  const delivered = meta.delivered_amount ?? meta.DeliveredAmount;
  if (DELIVERING.has(kind)) {
    // Without a delivered amount, all of Amount arrived, except in a payment that may be partial.
    const isWhole = kind === 'Payment' && (asCount(tx.Flags ?? 0, 'Flags') & PARTIAL_PAYMENT) === 0;
    const arrived = delivered ?? (isWhole ? tx.Amount : undefined);
    // Partial payments before 2014 have 'unavailable'.
    if (arrived === undefined || arrived === 'unavailable') return null;
    return [
      {
        from: asAddressOf('XRP', tx.Account, 'Account'),
        to: asAddressOf('XRP', tx.Destination, 'Destination'),
        ...readValue(arrived, 'delivered_amount'),
      },
    ];
  }
  if (UNREAD.has(kind)) return null;
  const object = RELEASING[kind];
  if (object === undefined) return [];
  for (const row of asArray(meta.AffectedNodes, 'AffectedNodes', NODES_MAX)) {
    const wrapped = asObject(row, 'AffectedNodes');
    const deleted = wrapped.DeletedNode;
    const value = deleted ?? wrapped.ModifiedNode;
    if (value === undefined) continue;
    const node = asObject(value, 'node');
    if (node.LedgerEntryType !== object) continue;
    const fields = asObject(node.FinalFields, 'FinalFields');
    const before = node.PreviousFields === undefined ? {} : asObject(node.PreviousFields, 'PreviousFields');
    const parties = {
      from: asAddressOf('XRP', fields.Account, 'Account'),
      to: asAddressOf('XRP', fields.Destination, 'Destination'),
    };
    if (kind === 'PaymentChannelClaim') {
      if (before.Balance === undefined) return [];
      const paid = asAmount(fields.Balance, 'Balance') - asAmount(before.Balance, 'PreviousFields.Balance');
      return paid > 0n ? [{ ...parties, amount: paid }] : [];
    }
    if (deleted === undefined) continue;
    if (kind === 'EscrowFinish') return [{ ...parties, ...readValue(fields.Amount, 'Amount') }];
    if (delivered !== undefined && delivered !== 'unavailable')
      return [{ ...parties, ...readValue(delivered, 'delivered_amount') }];
    return tx.Amount === undefined ? [] : [{ ...parties, ...readValue(tx.Amount, 'Amount') }];
  }
  return [];
}

function transferRow(
  tx: JsonObject,
  meta: JsonObject,
  shared: { readonly txHash: string; readonly blockNumber: number; readonly timestampMs: number },
): HistoryRow & { readonly isWhole: boolean } {
  const sender = addressOrNull('XRP', tx.Account);
  const { list, add } = transfersOf('XRP', { ...shared, call: sender === null ? null : { sender } });
  const moves = movesOf(tx, meta);
  for (const move of moves ?? []) add({ position: 'value', ...move });
  return { height: shared.blockNumber, transfers: list, isWhole: moves !== null };
}

/** Returns whether a transaction created the account: nothing precedes it. */
const makesAccount = (meta: JsonObject, address: string): boolean =>
  asArray(meta.AffectedNodes ?? [], 'AffectedNodes', NODES_MAX).some((value) => {
    const created = asObject(value, 'AffectedNodes').CreatedNode;
    if (created === undefined) return false;
    const { LedgerEntryType, NewFields } = asObject(created, 'CreatedNode');
    return LedgerEntryType === 'AccountRoot' && asObject(NewFields ?? {}, 'NewFields').Account === address;
  });

interface Ledger {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number;
  readonly transactions: readonly Json[];
}

function readLedger(result: JsonObject): Ledger {
  const ledger = asObject(result.ledger, 'ledger');
  return {
    height: asCount(ledger.ledger_index, 'ledger_index'),
    hash: asHash(ledger.ledger_hash, 'ledger_hash'),
    parentHash: asHash(ledger.parent_hash, 'parent_hash'),
    timestampMs: closeTimeMs(ledger.close_time, 'close_time'),
    transactions:
      ledger.transactions === undefined
        ? []
        : asArray(ledger.transactions, 'transactions', LEDGER_TRANSACTIONS_MAX),
  };
}

/** Converts a cursor to the marker of `account_tx`. */
function markerOf(cursor: string | null): JsonObject | null {
  if (cursor === null) return null;
  const [, ledger, seq] = /^(\d{1,12})\.(\d{1,12})$/.exec(cursor) ?? [];
  if (ledger === undefined || seq === undefined) throw invalidCursor();
  return { ledger: Number(ledger), seq: Number(seq) };
}

function createReader(pool: EndpointPool) {
  async function ask<T>(request: EndpointRequest<T>, call: Call): Promise<Sourced<T>> {
    const { value, endpoint } = await pool.ask(request, call);
    return { value, source: endpoint.source, height: null };
  }

  const ledgerAt = (height: number, whole: boolean, call: Call): Promise<Sourced<Ledger | null>> =>
    ask(
      request<Ledger | null>(
        'ledger',
        { ledger_index: height, transactions: whole, expand: whole },
        (result) => {
          const ledger = readLedger(result);
          if (ledger.height !== height) throw badAnswer('ledger_index', `the requested ${height}`);
          return result.validated === false ? null : ledger;
        },
        { lgrNotFound: null },
      ),
      call,
    );

  return {
    async balance(address: string, call: Call) {
      const sourced = await ask(
        request(
          'account_info',
          { account: address, ledger_index: 'validated' },
          (result) => ({
            balance: asAmount(asObject(result.account_data, 'account_data').Balance, 'Balance'),
            height: result.ledger_index === undefined ? null : asCount(result.ledger_index, 'ledger_index'),
          }),
          { actNotFound: { balance: 0n, height: null } },
        ),
        call,
      );
      return { ...sourced, value: sourced.value.balance, height: sourced.value.height };
    },
    // The Sequence of an account starts at the ledger of its first payment, so it is not a count.
    transactionCount: null,
    async rows(
      address: string,
      { cursor, size, from, to }: RowsQuery,
      call: Call,
    ): Promise<Sourced<RowsPage>> {
      const marker = markerOf(cursor);
      const read = (result: JsonObject) => {
        const found = asArray(result.transactions, 'transactions', 400).map((value) => {
          const row = asObject(value, 'transaction');
          const tx = asObject(row.tx, 'tx');
          return { tx, meta: asObject(row.meta, 'meta') };
        });
        const rows = found.map(({ tx, meta }) =>
          transferRow(tx, meta, {
            txHash: asHash(tx.hash, 'hash'),
            blockNumber: asCount(tx.ledger_index, 'ledger_index'),
            timestampMs: closeTimeMs(tx.date, 'date'),
          }),
        );
        const next = readMarker(result.marker);
        // Servers have only a part of the history and respond for that part only.
        const begin =
          result.ledger_index_min === undefined ? 0 : asCount(result.ledger_index_min, 'ledger_index_min');
        const oldest = found.at(-1);
        const isCut =
          next === null &&
          begin > Math.max(from ?? 0, FIRST_LEDGER) &&
          (oldest === undefined || !makesAccount(oldest.meta, address));
        const note = isCut
          ? `The server knows nothing of before the ledger ${begin}.`
          : rows.every(({ isWhole }) => isWhole)
            ? undefined
            : MISSING;
        return { page: { rows, next }, note };
      };
      const { value, ...sourced } = await ask(
        request(
          'account_tx',
          {
            account: address,
            ledger_index_min: from ?? -1,
            ledger_index_max: to ?? -1,
            limit: size,
            ...(marker === null ? {} : { marker }),
          },
          read,
          { actNotFound: { page: { rows: [], next: null }, note: undefined } },
        ),
        call,
      );
      return { ...sourced, value: value.page, ...(value.note === undefined ? {} : { note: value.note }) };
    },
    async head(call: Call) {
      const sourced = await ask(request('ledger', { ledger_index: 'validated' }, readLedger), call);
      const { height, hash, timestampMs } = sourced.value;
      return { ...sourced, height, value: { height, hash, timestampMs } };
    },
    async block(height: number, call: Call): Promise<Sourced<Block | null>> {
      const sourced = await ledgerAt(height, true, call);
      if (sourced.value === null) return { ...sourced, value: null };
      const { hash, parentHash, timestampMs, transactions } = sourced.value;
      // Transactions of an expanded ledger are unordered; the metadata has their index.
      const inOrder = transactions
        .map((value) => {
          const tx = asObject(value, 'transaction');
          const meta = asObject(tx.metaData ?? tx.meta, 'metaData');
          return { tx, meta, index: asCount(meta.TransactionIndex, 'TransactionIndex') };
        })
        .sort((a, b) => a.index - b.index);
      const rows = inOrder.map(({ tx, meta }) =>
        transferRow(tx, meta, { txHash: asHash(tx.hash, 'hash'), blockNumber: height, timestampMs }),
      );
      const transfers = rows.flatMap((row) => row.transfers);
      const note = rows.every(({ isWhole }) => isWhole) ? {} : { note: MISSING };
      return {
        ...sourced,
        ...note,
        height,
        value: { chain: 'XRP', height, hash, parentHash, timestampMs, transfers },
      };
    },
    hashAt: async (height: number, call: Call) => (await ledgerAt(height, false, call)).value?.hash ?? null,
  };
}

function readMarker(value: Json | undefined): string | null {
  if (value === undefined) return null;
  const { ledger, seq } = asObject(value, 'marker');
  return `${asCount(ledger, 'marker.ledger')}.${asCount(seq, 'marker.seq')}`;
}

/** Opens the adapter of the XRP Ledger. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: LAYOUTS, count: [], history: LAYOUTS, block: LAYOUTS },
      verify,
      pollPublicMs: 4_000,
      reader: createReader,
    },
    options,
    deps,
  );
