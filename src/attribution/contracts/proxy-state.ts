/**
 * Reads from a node which code a contract delegates to, at one block. Only code and storage count: a contract can log any event, and give
 * any answer about itself.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { parseAddress } from '../../chains/address/parse.ts';
import type { Call, ChainAdapter } from '../../chains/families/port.ts';
import type { ChainId } from '../../chains/registry.ts';
import { delegates, isContract, minimalProxyTarget } from './code.ts';

export type StateReader = Required<Pick<ChainAdapter, 'code' | 'storage' | 'callContract'>>;

/** How a contract names the code that it delegates to. */
export type ProxyStandard = 'eip1167' | 'eip1967' | 'eip1967-beacon' | 'zeppelinos' | 'eip1822';

export interface ProxyState {
  readonly standard: ProxyStandard;
  /** Canonical. */
  readonly implementation: string;
  /** The contract that names the implementation; null if the proxy itself does. */
  readonly beacon: string | null;
  /** Who may change the implementation, as EIP-1967 stores it; null if the slot is empty. */
  readonly admin: string | null;
}

/** Returns the Keccak-256 of a text, as 0x and 64 digits: the topic of an event with that signature. */
export const keccakOf = (text: string): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(text))).toString('hex')}`;

const slotOf = (text: string, minus: bigint): string =>
  `0x${(BigInt(keccakOf(text)) - minus).toString(16).padStart(64, '0')}`;

/** Slots as EIP-1967 and EIP-1822 define them, and that of ZeppelinOS, which is older and which USDC has. */
const SLOTS: readonly (readonly [standard: ProxyStandard, slot: string])[] = [
  ['eip1967', slotOf('eip1967.proxy.implementation', 1n)],
  ['eip1967-beacon', slotOf('eip1967.proxy.beacon', 1n)],
  ['zeppelinos', slotOf('org.zeppelinos.proxy.implementation', 0n)],
  ['eip1822', slotOf('PROXIABLE', 0n)],
];
const ADMIN_SLOT = slotOf('eip1967.proxy.admin', 1n);
/** The selector of `implementation()`, which EIP-1967 requires of beacons. */
const IMPLEMENTATION_CALL = '0x5c60da1b';
/**
 * Gas of a call of `implementation()`. That of OpenZeppelin takes 2,400; a beacon that is a proxy itself several times as much. A hostile
 * one cannot occupy the node with so little, or return more than 200 KB.
 */
const BEACON_GAS = 100_000;
const NOBODY = '0'.repeat(40);

/** Returns the address in a word; null if the word is not exactly an address, or zero. */
function addressOf(chain: ChainId, word: string | null): string | null {
  const digits = word !== null && /^0x0{24}[0-9a-f]{40}$/.test(word) ? word.slice(26) : NOBODY;
  return digits === NOBODY ? null : parseAddress(chain, `0x${digits}`).canonical;
}

/** Implementations that were read at the block: millions of proxies share a few. At 100 bytes each, 2 MB. */
const KNOWN_MAX = 20_000;

/** Reads the state of contracts at one block. */
export class ProxyStates {
  readonly #chain: ChainId;
  readonly #reader: StateReader;
  readonly #blockHash: string;
  readonly #call: Call;
  /** Whether an address is a contract, by address. */
  readonly #contracts = new Map<string, boolean>();

  /** @param blockHash - all reads see the state after this block */
  constructor(chain: ChainId, reader: StateReader, blockHash: string, call: Call) {
    this.#chain = chain;
    this.#reader = reader;
    this.#blockHash = blockHash;
    this.#call = call;
  }

  async #isContract(address: string): Promise<boolean> {
    const known = this.#contracts.get(address);
    if (known !== undefined) return known;
    const is = isContract(await this.#reader.code(address, this.#call, this.#blockHash));
    if (this.#contracts.size >= KNOWN_MAX) this.#contracts.clear();
    this.#contracts.set(address, is);
    return is;
  }

  async #slot(address: string, slot: string): Promise<string | null> {
    return addressOf(this.#chain, await this.#reader.storage(address, slot, this.#blockHash, this.#call));
  }

  /** Returns what a beacon answers, if that is a contract; null if the address is no beacon. */
  async beaconTarget(address: string): Promise<string | null> {
    const answer = await this.#reader.callContract(
      { to: address, data: IMPLEMENTATION_CALL, blockHash: this.#blockHash, gas: BEACON_GAS },
      this.#call,
    );
    const implementation = addressOf(this.#chain, answer);
    return implementation !== null && (await this.#isContract(implementation)) ? implementation : null;
  }

  /**
   * Reads the implementation of a contract.
   *
   * A contract counts as a proxy only if its code delegates, and has the number of the slot in it: a proxy that reads the slot has to. The
   * code of a beacon proxy may have the address of the beacon instead (OpenZeppelin 5 fills the slot for readers only). A slot that names an
   * account without code proves nothing.
   *
   * @returns null if the contract is no proxy of a known standard
   * @throws CHAIN_REFUSED if no node has the state of the block
   */
  async of(address: string): Promise<ProxyState | null> {
    const code = await this.#reader.code(address, this.#call, this.#blockHash);
    if (!isContract(code)) return null;
    const target = minimalProxyTarget(code);
    if (target !== null) {
      const implementation = parseAddress(this.#chain, target).canonical;
      if (!(await this.#isContract(implementation))) return null;
      return { standard: 'eip1167', implementation, beacon: null, admin: null };
    }
    if (!delegates(code)) return null;
    for (const [standard, slot] of SLOTS) {
      const isBeacon = standard === 'eip1967-beacon';
      const hasSlot = code.includes(slot.slice(2));
      if (!hasSlot && !isBeacon) continue;
      const named = await this.#slot(address, slot);
      if (named === null) continue;
      if (!hasSlot && !code.includes(named.slice(2).toLowerCase())) continue;
      const implementation = isBeacon ? await this.beaconTarget(named) : named;
      if (implementation === null || !(await this.#isContract(implementation))) continue;
      const admin = standard.startsWith('eip1967') ? await this.#slot(address, ADMIN_SLOT) : null;
      return { standard, implementation, beacon: isBeacon ? named : null, admin };
    }
    return null;
  }
}
