/** Reads runtime code of contracts: minimal proxies, whose code contains their implementation, and whether code can delegate at all. */

/** Code of a minimal proxy, around the address of its implementation. */
interface Layout {
  readonly before: string;
  /** Bytes of the address; leading zero bytes are left out by some deployers. */
  readonly bytes: number;
  readonly after: string;
}

const ADDRESS_BYTES = 20;
const PUSH1 = 0x60;
/** Position of the jump target in the code of EIP-1167 with a whole address. */
const JUMP_TARGET = 0x2b;

const hexByte = (value: number): string => value.toString(16).padStart(2, '0');

/** EIP-1167 with an address of `bytes` bytes: the push is shorter, and the jump target moves with it. */
const eip1167 = (bytes: number): Layout => ({
  before: `0x363d3d373d3d3d363d${hexByte(PUSH1 + bytes - 1)}`,
  bytes,
  after: `5af43d82803e903d9160${hexByte(JUMP_TARGET - (ADDRESS_BYTES - bytes))}57fd5bf3`,
});

/** The code that EIP-1167 and EIP-7511 specify, and the shorter one of Solady and 0age, which delegates the same way. */
const LAYOUTS: readonly Layout[] = [
  ...Array.from({ length: ADDRESS_BYTES }, (_, left) => eip1167(ADDRESS_BYTES - left)),
  {
    before: '0x365f5f375f5f365f73',
    bytes: ADDRESS_BYTES,
    after: '5af43d5f5f3e5f3d91602a57fd5bf3',
  },
  {
    before: '0x3d3d3d3d363d3d37363d73',
    bytes: ADDRESS_BYTES,
    after: '5af43d3d93803e602a57fd5bf3',
  },
];

/**
 * Returns the implementation of a minimal proxy; null for every other code. Bytes behind the layout cannot be reached: factories append
 * arguments there.
 *
 * @param code - runtime code in lower-case hex with 0x
 * @returns 0x and 40 hex digits in lower case
 */
export function minimalProxyTarget(code: string): string | null {
  for (const { before, bytes, after } of LAYOUTS) {
    const end = before.length + 2 * bytes;
    if (code.startsWith(before) && code.startsWith(after, end))
      return `0x${code.slice(before.length, end).padStart(2 * ADDRESS_BYTES, '0')}`;
  }
  return null;
}

const DELEGATECALL = 0xf4;
const PUSH32 = 0x7f;

/** Returns whether code has the instruction DELEGATECALL, outside of the data of pushes. */
export function delegates(code: string): boolean {
  for (let at = 2; at < code.length; at += 2) {
    const instruction = Number.parseInt(code.slice(at, at + 2), 16);
    if (instruction === DELEGATECALL) return true;
    if (instruction >= PUSH1 && instruction <= PUSH32) at += 2 * (instruction - PUSH1 + 1);
  }
  return false;
}

/** Returns whether code is that of a contract: not empty, and no delegation of an account (EIP-7702). */
export const isContract = (code: string): boolean => code !== '0x' && !code.startsWith('0xef0100');
