/**
 * Algorand over the REST API of its indexer (developer.algorand.org, "Indexer") and, for balances, a node (`algod`): payments,
 * transfers of standard assets, inner transactions of contracts, and the amounts that closing an account moved. The indexer has the
 * hash of a block only in the next block, so the head is one round behind; rounds are final.
 */
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
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
import { rest, restRequest } from '../../endpoints/rest.ts';
import {
  addressOrNull,
  asAddressOf,
  asPattern,
  decimalsOrNull,
  type HistoryRow,
  openAccountChain,
  type RowsPage,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import { orUnknown } from '../asset-decimals.ts';
import type { Call, OpenAdapter } from '../port.ts';

const INDEXER = ['indexer'] as const;
const ANY = ['indexer', 'algod'] as const;
const GENESIS_HASH = 'wGHE2Pwdvd7S12BL5FaOP20GEYesN73ktiC1qzkkit8=';
const ROUND_TRANSACTIONS_MAX = 200_000;
/** Limits of the protocol: 256 inner transactions, calls nested 8 deep. */
const INNER_MAX = 256;
const DEPTH_MAX = 8;

function checkGenesis(hash: Json | undefined): void {
  if (typeof hash !== 'string') throw badAnswer('genesis-hash', 'a text');
  if (hash !== GENESIS_HASH)
    throw new AssayError('CHAIN_MISMATCH', `An endpoint of ALGO serves the chain ${hash.slice(0, 64)}.`);
}

const verify = restRequest<void>({
  path: ({ layout }) => (layout === 'algod' ? 'versions' : 'v2/blocks/1'),
  layouts: ANY,
  read(json, { layout }) {
    const fields = asObject(json, 'answer');
    checkGenesis(layout === 'algod' ? fields.genesis_hash_b64 : fields['genesis-hash']);
  },
});

const asHash = (value: Json | undefined, field: string): string =>
  asPattern(value, /^[A-Za-z0-9+/]{43}=$/, field);

type Add = ReturnType<typeof transfersOf>['add'];

/**
 * Adds the transfers of a transaction and of its inner transactions. Positions are `value` and `close` at the top level (`path` is
 * empty), and `inner:0_2:value` inside.
 */
function addMoves(tx: JsonObject, path: readonly number[], add: Add): void {
  if (path.length > DEPTH_MAX) throw badAnswer('inner-txns', `nested at most ${DEPTH_MAX} deep`);
  const position = (name: string): string => (path.length === 0 ? name : `inner:${path.join('_')}:${name}`);
  const account = (value: Json | undefined, field: string): string => asAddressOf('ALGO', value, field);
  const sender = account(tx.sender, 'sender');
  if (tx['tx-type'] === 'pay') {
    const pay = asObject(tx['payment-transaction'], 'payment-transaction');
    add({
      position: position('value'),
      from: sender,
      to: account(pay.receiver, 'receiver'),
      amount: asAmount(pay.amount, 'amount'),
    });
    if (pay['close-remainder-to'] !== undefined)
      add({
        position: position('close'),
        from: sender,
        to: account(pay['close-remainder-to'], 'close-remainder-to'),
        amount: asAmount(pay['close-amount'] ?? 0, 'close-amount'),
      });
  } else if (tx['tx-type'] === 'axfer') {
    const move = asObject(tx['asset-transfer-transaction'], 'asset-transfer-transaction');
    const asset = String(asCount(move['asset-id'], 'asset-id'));
    // A clawback takes from an account other than the sender.
    const from =
      move.sender === undefined ? sender : account(move.sender, 'asset-transfer-transaction.sender');
    const amount = asAmount(move.amount, 'amount');
    const to = account(move.receiver, 'receiver');
    // An empty transfer to oneself is only an opt-in.
    if (amount > 0n || from !== to) add({ position: position('value'), from, to, amount, asset });
    if (move['close-to'] !== undefined)
      add({
        position: position('close'),
        from,
        to: account(move['close-to'], 'close-to'),
        amount: asAmount(move['close-amount'] ?? 0, 'close-amount'),
        asset,
      });
  }
  if (tx['inner-txns'] === undefined) return;
  for (const [index, inner] of asArray(tx['inner-txns'], 'inner-txns', INNER_MAX).entries())
    addMoves(asObject(inner, 'inner-txns'), [...path, index], add);
}

function rowOf(value: Json, at?: { readonly height: number; readonly timestampMs: number }): HistoryRow {
  const tx = asObject(value, 'transaction');
  const blockNumber = at?.height ?? asCount(tx['confirmed-round'], 'confirmed-round');
  const sender = addressOrNull('ALGO', tx.sender);
  const { list, add } = transfersOf('ALGO', {
    call: sender === null ? null : { sender },
    txHash: asPattern(tx.id, /^[A-Z2-7]{52}$/, 'id'),
    blockNumber,
    timestampMs: at?.timestampMs ?? asSecondsMs(tx['round-time'], 'round-time'),
  });
  addMoves(tx, [], add);
  return { height: blockNumber, transfers: list };
}

interface Round {
  readonly parentHash: string;
  readonly timestampMs: number;
  readonly transactions: readonly Json[];
}

function createReader(pool: EndpointPool) {
  const roundAt = (height: number, content: 'header' | 'whole', call: Call): Promise<Sourced<Round | null>> =>
    rest<Round | null>(
      pool,
      {
        path: `v2/blocks/${height}`,
        query: content === 'header' ? { 'header-only': 'true' } : {},
        layouts: INDEXER,
        missing: null,
        read(json) {
          const block = asObject(json, 'block');
          if (asCount(block.round, 'round') !== height) throw badAnswer('round', `the requested ${height}`);
          checkGenesis(block['genesis-hash']);
          return {
            parentHash: asHash(block['previous-block-hash'], 'previous-block-hash'),
            timestampMs: asSecondsMs(block.timestamp, 'timestamp'),
            transactions:
              content === 'header' || block.transactions === undefined
                ? []
                : asArray(block.transactions, 'transactions', ROUND_TRANSACTIONS_MAX),
          };
        },
      },
      call,
    );

  const hashAt = async (height: number, call: Call): Promise<string | null> =>
    (await roundAt(height + 1, 'header', call)).value?.parentHash ?? null;

  return {
    async balance(address: string, call: Call) {
      const sourced = await rest<{ balance: bigint; height: number | null }>(
        pool,
        {
          path: `v2/accounts/${address}`,
          query: { exclude: 'all' },
          layouts: ANY,
          missing: { balance: 0n, height: null },
          read(json, { layout }) {
            const fields = asObject(json, 'answer');
            const account = layout === 'algod' ? fields : asObject(fields.account, 'account');
            return { balance: asAmount(account.amount, 'amount'), height: asCount(account.round, 'round') };
          },
        },
        call,
      );
      return { ...sourced, value: sourced.value.balance, height: sourced.value.height };
    },
    transactionCount: null,
    async rows(address: string, { cursor, size, from, to }: RowsQuery, call: Call) {
      if (cursor !== null && !/^[\w=+/-]{1,256}$/.test(cursor)) throw invalidCursor();
      return rest<RowsPage>(
        pool,
        {
          path: `v2/accounts/${address}/transactions`,
          query: {
            limit: String(size),
            ...(cursor === null ? {} : { next: cursor }),
            ...(from === null ? {} : { 'min-round': String(from) }),
            ...(to === null ? {} : { 'max-round': String(to) }),
          },
          layouts: INDEXER,
          missing: { rows: [], next: null },
          read(json) {
            const answer = asObject(json, 'answer');
            const rows = asArray(answer.transactions, 'transactions', size).map((row) => rowOf(row));
            const token = answer['next-token'];
            // The indexer returns a token even with the last rows; the page after them is empty and ends the list.
            const next =
              token === undefined || token === '' || rows.length === 0
                ? null
                : asPattern(token, /^[\w=+/-]{1,256}$/, 'next-token');
            return { rows, next };
          },
        },
        call,
      );
    },
    async head(call: Call) {
      const { value: newest } = await rest(
        pool,
        {
          path: 'health',
          layouts: INDEXER,
          read: (json) => asCount(asObject(json, 'answer').round, 'round'),
        },
        call,
      );
      const height = Math.max(0, newest - 1);
      const [round, hash] = await Promise.all([roundAt(height, 'header', call), hashAt(height, call)]);
      if (round.value === null || hash === null) throw badAnswer('round', 'a round that the indexer has');
      const value = { height, hash, timestampMs: round.value.timestampMs };
      return { source: round.source, height, value };
    },
    async block(height: number, call: Call): Promise<Sourced<Block | null>> {
      const [sourced, hash] = await Promise.all([roundAt(height, 'whole', call), hashAt(height, call)]);
      if (sourced.value === null || hash === null) return { ...sourced, value: null };
      const { parentHash, timestampMs, transactions } = sourced.value;
      const transfers = transactions.flatMap((tx) => rowOf(tx, { height, timestampMs }).transfers);
      return {
        ...sourced,
        height,
        value: {
          chain: 'ALGO',
          height,
          hash,
          parentHash: height === 0 ? null : parentHash,
          timestampMs,
          transfers,
        },
      };
    },
    hashAt,
    async decimalsOf(asset: string, call: Call) {
      const sourced = await rest<number | null>(
        pool,
        {
          path: `v2/assets/${asset}`,
          layouts: ANY,
          // The asset was destroyed and is no longer available.
          missing: null,
          read: orUnknown((json) => {
            const fields = asObject(json, 'answer');
            // An indexer wraps the object that a node returns directly.
            const found = fields.asset === undefined ? fields : asObject(fields.asset, 'asset');
            return String(found.index) === asset
              ? decimalsOrNull(asObject(found.params, 'params').decimals)
              : null;
          }),
        },
        call,
      );
      return sourced.value;
    },
  };
}

/** Opens the adapter of Algorand. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: ANY, count: [], history: INDEXER, block: INDEXER },
      verify,
      pollPublicMs: 3_000,
      reader: createReader,
    },
    options,
    deps,
  );
