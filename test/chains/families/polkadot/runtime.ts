/** A small runtime of a Substrate chain: its metadata (version 14) and the bytes of its events. */

const bytes = (...parts: readonly (Uint8Array | number)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Uint8Array.of(part) : part)));

/** Encodes an integer in little-endian order. */
export function littleEndian(value: bigint | number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  for (let i = 0; i < length; i++) buffer[i] = Number((BigInt(value) >> BigInt(8 * i)) & 255n);
  return buffer;
}

export function compact(value: number): Buffer {
  if (value < 64) return littleEndian(value << 2, 1);
  if (value < 2 ** 14) return littleEndian(value * 4 + 1, 2);
  if (value < 2 ** 30) return littleEndian(value * 4 + 2, 4);
  return bytes(0x03, littleEndian(value, 4));
}

const text = (value: string): Buffer => bytes(compact(value.length), Buffer.from(value));
const list = (items: readonly Uint8Array[]): Buffer => bytes(compact(items.length), ...items);
const some = (value: Uint8Array): Buffer => bytes(1, value);
const NONE = Uint8Array.of(0);

type Fields = readonly (readonly [name: string | null, type: number])[];
const fields = (of: Fields): Buffer =>
  list(
    of.map(([name, type]) => bytes(name === null ? NONE : some(text(name)), compact(type), NONE, list([]))),
  );
const variants = (of: Readonly<Record<string, readonly [index: number, Fields]>>): Buffer =>
  bytes(
    1,
    list(Object.entries(of).map(([name, [index, own]]) => bytes(text(name), fields(own), index, list([])))),
  );
const composite = (own: Fields): Buffer => bytes(0, fields(own));

/** Types by their numbers. */
const T = {
  u8: 0,
  bytes32: 1,
  account: 2,
  u32: 3,
  u128: 4,
  phase: 5,
  system: 6,
  balances: 7,
  assets: 8,
  event: 9,
  record: 10,
  records: 11,
  topics: 12,
  info: 13,
  compactU64: 14,
  u64: 15,
  place: 16,
  foreign: 17,
  text: 18,
  bits: 19,
  odd: 20,
  maybe: 21,
  swaps: 22,
} as const;

const DEFINITIONS: Readonly<Record<keyof typeof T, Buffer>> = {
  u8: bytes(5, 3),
  bytes32: bytes(3, littleEndian(32, 4), compact(T.u8)),
  account: composite([[null, T.bytes32]]),
  u32: bytes(5, 5),
  u128: bytes(5, 7),
  phase: variants({ ApplyExtrinsic: [0, [[null, T.u32]]], Finalization: [1, []], Initialization: [2, []] }),
  system: variants({
    ExtrinsicSuccess: [0, [['dispatch_info', T.info]]],
    // Fields of every kind that exists, which a reader must skip.
    Odd: [9, [['all', T.odd]]],
  }),
  balances: variants({
    // Variant numbers need not be consecutive.
    Transfer: [
      2,
      [
        ['from', T.account],
        ['to', T.account],
        ['amount', T.u128],
      ],
    ],
    Minted: [
      10,
      [
        ['who', T.account],
        ['amount', T.u128],
      ],
    ],
    Withdraw: [
      8,
      [
        ['who', T.account],
        ['amount', T.u128],
      ],
    ],
  }),
  assets: variants({
    Transferred: [
      2,
      [
        ['asset_id', T.u32],
        ['from', T.account],
        ['to', T.account],
        ['amount', T.u128],
      ],
    ],
    Burned: [
      5,
      [
        ['asset_id', T.u32],
        ['owner', T.account],
        ['balance', T.u128],
      ],
    ],
  }),
  event: variants({
    System: [0, [[null, T.system]]],
    Balances: [10, [[null, T.balances]]],
    Assets: [50, [[null, T.assets]]],
    ForeignAssets: [53, [[null, T.foreign]]],
    AssetConversion: [56, [[null, T.swaps]]],
  }),
  record: composite([
    ['phase', T.phase],
    ['event', T.event],
    ['topics', T.topics],
  ]),
  records: bytes(2, compact(T.record)),
  topics: bytes(2, compact(T.bytes32)),
  info: composite([
    ['weight', T.compactU64],
    ['pays', T.u8],
  ]),
  compactU64: bytes(6, compact(T.u64)),
  u64: bytes(5, 6),
  place: variants({
    Here: [0, []],
    Inside: [
      1,
      [
        [null, T.u32],
        ['of', T.place],
      ],
    ],
  }),
  foreign: variants({
    Transferred: [
      2,
      [
        ['asset_id', T.place],
        ['from', T.account],
        ['to', T.account],
        ['amount', T.u128],
      ],
    ],
  }),
  text: bytes(5, 2),
  bits: bytes(7, compact(T.u8), compact(T.u8)),
  odd: bytes(4, list([compact(T.text), compact(T.bits), compact(T.maybe), compact(T.topics)])),
  maybe: variants({ None: [0, []], Some: [1, [[null, T.place]]] }),
  swaps: variants({ SwapExecuted: [1, [['who', T.account]]] }),
};

const pallet = (name: string, index: number, event: number | null, entries: readonly Buffer[] = []): Buffer =>
  bytes(
    text(name),
    entries.length === 0 ? NONE : some(bytes(text(name), list(entries))),
    NONE,
    event === null ? NONE : some(compact(event)),
    // A constant.
    list([bytes(text('Depth'), compact(T.u32), compact(4), littleEndian(7, 4), list([]))]),
    NONE,
    index,
  );

export const METADATA = `0x${bytes(
  Buffer.from('meta'),
  14,
  list(
    (Object.keys(T) as (keyof typeof T)[]).map((name) =>
      bytes(
        compact(T[name]),
        list([text('a'), text('path')]),
        list([bytes(text('Parameter'), NONE)]),
        DEFINITIONS[name],
        list([text('What it is.')]),
      ),
    ),
  ),
  list([
    pallet('System', 0, T.system, [
      // A map, which has hashers and a key; then the entry that the adapter looks for.
      bytes(
        text('Account'),
        1,
        1,
        list([Uint8Array.of(2)]),
        compact(T.account),
        compact(T.u128),
        list([]),
        list([]),
      ),
      bytes(text('Events'), 1, 0, compact(T.records), list([]), list([text('The events.')])),
    ]),
    pallet('Balances', 10, T.balances),
    pallet('Timestamp', 3, null),
  ]),
  // The adapter does not read the metadata of extrinsics that follows.
  Buffer.from('deadbeef', 'hex'),
).toString('hex')}`;

export type Phase = number | 'Initialization';

/** Encodes one record of the list of events; `fields` are the bytes of its fields. */
export const record = (
  phase: Phase,
  pallet: keyof typeof PALLETS,
  variant: number,
  ...own: readonly Uint8Array[]
): Buffer =>
  bytes(
    phase === 'Initialization' ? Uint8Array.of(2) : bytes(0, littleEndian(phase, 4)),
    PALLETS[pallet],
    variant,
    ...own,
    list([Buffer.alloc(32, 7)]),
  );
const PALLETS = { System: 0, Balances: 10, Assets: 50, ForeignAssets: 53, AssetConversion: 56 } as const;

export const success = (phase: Phase): Buffer =>
  record(phase, 'System', 0, compact(123_456), Uint8Array.of(1));
/** An event with a text, nine bits, a nested location of depth two, and two topics. */
export const odd = (phase: Phase): Buffer =>
  record(
    phase,
    'System',
    9,
    text('abc'),
    bytes(compact(9), Buffer.from([255, 1])),
    bytes(1, 1, littleEndian(5, 4), 0),
    list([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]),
  );
export const events = (records: readonly Uint8Array[]): string => `0x${list(records).toString('hex')}`;
/** A location on another chain, used as the id of an asset. */
export const place = (n: number): Buffer => bytes(1, littleEndian(n, 4), 0);
