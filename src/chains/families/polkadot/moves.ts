/**
 * Defines which events of Polkadot's runtimes are transfers, and which of their fields have the parties (docs of pallet-balances and
 * pallet-assets).
 */
import { formatAddressKey } from '../../address/parse.ts';
import { badAnswer } from '../../endpoints/exact-json.ts';
import { chainOf } from '../../registry.ts';
import type { Transfer } from '../../transfer.ts';
import { transfersOf } from '../account-chain.ts';
import type { RuntimeEvent } from './metadata.ts';
import { ScaleReader } from './scale.ts';

interface Move {
  readonly from: string | null;
  readonly to: string | null;
  /** Field name; newest name first if runtimes differ. */
  readonly amount: string | readonly [string, string];
  /** Field with the id of the asset; absent for DOT. */
  readonly asset?: string;
  /** Order of the fields in runtimes of 2021, which did not name them. */
  readonly unnamed?: readonly string[];
}

const asset = (from: string | null, to: string | null, amount: Move['amount']): Move => ({
  from,
  to,
  amount,
  asset: 'asset_id',
});
const ASSET_MOVES: Readonly<Record<string, Move>> = {
  Transferred: asset('from', 'to', 'amount'),
  TransferredApproved: asset('owner', 'destination', 'amount'),
  Issued: asset(null, 'owner', ['amount', 'total_supply']),
  Burned: asset('owner', null, 'balance'),
};

/**
 * Fees, and value that a pallet moves from one account to another in two steps (`Withdraw`, `Deposit`), are not transfers: the events
 * do not say which steps belong together.
 */
const MOVES: ReadonlyMap<string, Move> = new Map<string, Move>([
  ['Balances.Transfer', { from: 'from', to: 'to', amount: 'amount', unnamed: ['from', 'to', 'amount'] }],
  [
    'Balances.ReserveRepatriated',
    { from: 'from', to: 'to', amount: 'amount', unnamed: ['from', 'to', 'amount'] },
  ],
  ['Balances.TransferOnHold', { from: 'source', to: 'dest', amount: 'amount' }],
  ['Balances.TransferAndHold', { from: 'source', to: 'dest', amount: 'transferred' }],
  ['Balances.Minted', { from: null, to: 'who', amount: 'amount' }],
  ['Balances.Burned', { from: 'who', to: null, amount: 'amount' }],
  ...['Assets', 'ForeignAssets', 'PoolAssets'].flatMap((pallet) =>
    Object.entries(ASSET_MOVES).map(([name, move]): [string, Move] => [`${pallet}.${name}`, move]),
  ),
]);
/** Swaps move value by withdrawals and deposits. */
const SWAP = 'AssetConversion.SwapExecuted';

/** Assets have the same names as in Subscan; foreign assets are named after the bytes of their location. */
const ASSET_PREFIX: Readonly<Record<string, string>> = {
  Assets: 'standard_assets/',
  ForeignAssets: 'foreign_assets/0x',
  PoolAssets: 'pool_assets/',
};

/** Returns whether an event is a transfer or a swap in a pool. */
export const isMoveOrSwap = (name: string): boolean => MOVES.has(name) || name === SWAP;

/** Returns the id of an asset of the pallet `Assets`; null for DOT and for other assets. */
export const standardAssetOf = (name: string): number | null =>
  /^standard_assets\/\d{1,10}$/.test(name) ? Number(name.slice('standard_assets/'.length)) : null;

function assetName(pallet: string, id: Buffer): string {
  const prefix = ASSET_PREFIX[pallet] ?? '';
  if (pallet === 'ForeignAssets') {
    if (id.length > 200) throw badAnswer('asset_id', 'at most 200 bytes');
    return `${prefix}${id.toString('hex')}`;
  }
  if (id.length !== 4) throw badAnswer('asset_id', 'a number of 32 bits');
  return `${prefix}${id.readUInt32LE(0)}`;
}

function accountOf(bytes: Buffer | undefined, field: string): string {
  if (bytes?.length !== 32) throw badAnswer(field, 'an account');
  return formatAddressKey(Uint8Array.of(chainOf('DOT').keyByte, 1, ...bytes), 'DOT');
}

/**
 * Returns the transfers in the events of a block.
 *
 * @param block - `hashes` has one entry per extrinsic; null for inherents, which no account sent
 */
export function movesOf(
  events: readonly RuntimeEvent[],
  block: {
    readonly height: number;
    readonly timestampMs: number;
    readonly hashes: readonly (string | null)[];
  },
): { readonly transfers: readonly Transfer[]; readonly hasSwaps: boolean } {
  const { height, timestampMs, hashes } = block;
  const transfers: Transfer[] = [];
  let hasSwaps = false;
  for (const { name, index, extrinsic, fields } of events) {
    if (name === SWAP) hasSwaps = true;
    const move = MOVES.get(name);
    if (move === undefined) continue;
    const field = (wanted: string): Buffer | undefined =>
      fields.get(wanted) ?? fields.get(String(move.unnamed?.indexOf(wanted) ?? -1));
    const party = (wanted: string | null): string | null =>
      wanted === null ? null : accountOf(field(wanted), wanted);
    const [newer, older = newer] = typeof move.amount === 'string' ? [move.amount] : move.amount;
    const amount = field(newer) ?? field(older);
    if (amount?.length !== 16) throw badAnswer(newer, 'an amount of 128 bits');
    const txHash = extrinsic === null ? null : hashes[extrinsic];
    if (txHash === undefined) throw badAnswer('events', 'of extrinsics in the block');
    const { list, add } = transfersOf('DOT', {
      // Same as Subscan: a transfer that no account sent is named after its block.
      txHash: txHash ?? `${height}-${index}`,
      blockNumber: height,
      timestampMs,
    });
    const id = move.asset === undefined ? undefined : field(move.asset);
    if (move.asset !== undefined && id === undefined) throw badAnswer(move.asset, 'present');
    add({
      position: `event:${index}`,
      from: party(move.from),
      to: party(move.to),
      amount: new ScaleReader(amount, newer).u128(),
      ...(id === undefined ? {} : { asset: assetName(name.split('.')[0] ?? '', id) }),
    });
    transfers.push(...list);
  }
  return { transfers, hasSwaps };
}
