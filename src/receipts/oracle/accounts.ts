/** The sanctioned addresses of an EVM chain, in ascending order, from a label snapshot of any size. */
import { AssayError } from '../../base/errors.ts';
import { CHAINS, type ChainId, isEvm, parseChainId } from '../../chains/registry.ts';
import type { LabelReader } from '../../labels/index/reader.ts';
import { ORACLE_LIMITS } from './limits.ts';
import { ADDRESS_BYTES } from './merkle.ts';

/** The addresses are divided by their first two bytes. */
const PREFIXES = 65_536;
const prefixOf = (address: Uint8Array): number => ((address[0] as number) << 8) | (address[1] as number);

/**
 * Parses a chain with a list that a contract can hold.
 *
 * @throws UNKNOWN_CHAIN, INVALID_REQUEST
 */
export function parseEvmChain(text: string, field = 'chain'): ChainId {
  const chain = parseChainId(text);
  if (isEvm(chain)) return chain;
  throw new AssayError(
    'INVALID_REQUEST',
    `${field}: must be an EVM chain: ${CHAINS.map(({ id }) => id)
      .filter(isEvm)
      .join(', ')} (got ${chain}).`,
    { field },
  );
}

/** Returns the first prefix behind the longest range from `from` that has at most `max` addresses, or one prefix. */
function rangeEnd(counts: Uint32Array, from: number, max: number): number {
  let total = 0;
  let end = from;
  while (end < PREFIXES && (end === from || total + (counts[end] as number) <= max)) {
    total += counts[end] as number;
    end++;
  }
  return end;
}

/**
 * Yields each sanctioned address of a chain once, ascending, as 20 bytes. The set is that of `GET /sanctions/check`: an address on a list in
 * force, or owned by a listed party.
 *
 * The memory is that of one run of addresses: the snapshot is read once to count them by prefix, and once more for each run.
 *
 * @param runMax - addresses that are sorted at a time
 */
export function* sanctionedAddresses(
  reader: Pick<LabelReader, 'eachSanctioned'>,
  chain: ChainId,
  runMax: number = ORACLE_LIMITS.sortedAtOnceMax,
): Generator<Uint8Array> {
  const counts = new Uint32Array(PREFIXES);
  reader.eachSanctioned(chain, (address) => {
    const prefix = prefixOf(address);
    counts[prefix] = (counts[prefix] as number) + 1;
  });
  for (let from = 0; from < PREFIXES; ) {
    const end = rangeEnd(counts, from, runMax);
    yield* sortedRun(reader, chain, from, end);
    from = end;
  }
}

function* sortedRun(
  reader: Pick<LabelReader, 'eachSanctioned'>,
  chain: ChainId,
  from: number,
  end: number,
): Generator<Uint8Array> {
  // Strings of one byte per character are compared byte by byte, and sorted without a callback.
  const run: string[] = [];
  reader.eachSanctioned(chain, (address) => {
    const prefix = prefixOf(address);
    if (prefix >= from && prefix < end)
      run.push(Buffer.from(address.buffer, address.byteOffset, ADDRESS_BYTES).toString('latin1'));
  });
  run.sort();
  let before: string | null = null;
  for (const text of run) {
    if (text !== before) yield Buffer.from(text, 'latin1');
    before = text;
  }
}
