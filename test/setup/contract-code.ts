/** Runtime and creation code of proxies and of contracts that look like them, assembled here. */
import { getCreateAddress, id, keccak256, toUtf8Bytes } from 'ethers';
import type { Anvil } from './anvil.ts';

const slotOf = (text: string, minus: bigint): string =>
  `0x${(BigInt(keccak256(toUtf8Bytes(text))) - minus).toString(16).padStart(64, '0')}`;

export const IMPLEMENTATION_SLOT = slotOf('eip1967.proxy.implementation', 1n);
export const BEACON_SLOT = slotOf('eip1967.proxy.beacon', 1n);
export const ZEPPELIN_SLOT = slotOf('org.zeppelinos.proxy.implementation', 0n);
export const PROXIABLE_SLOT = slotOf('PROXIABLE', 0n);
export const UPGRADED = id('Upgraded(address)');

const word = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0');
const short = (value: number): string => value.toString(16).padStart(4, '0');

/** Runtime code that delegates every call to the address in a slot. */
export const delegating = (slot: string): string =>
  `366000600037600060003660007f${slot.slice(2)}545af43d600060003e3d6000f3`;

/** Runtime code that has the number of a slot in it, but delegates to another address. */
export const pretending = (slot: string, other: string): string =>
  `7f${slot.slice(2)}503660006000376000600036600073${other.slice(2)}5af43d600060003e3d6000f3`;

/** Runtime code of a minimal proxy (EIP-1167). */
export const minimal = (implementation: string): string =>
  `363d3d373d3d3d363d73${implementation.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`;

/** Runtime code that answers each call with one address. */
export const answering = (address: string): string => `7f${word(address)}60005260206000f3`;

/** Runtime code that answers a call without a sender, as nodes make it, with one address, and every other call with another one. */
export const answeringCallers = (asked: string, called: string): string =>
  `3315602e577f${word(called)}60005260206000f35b7f${word(asked)}60005260206000f3`;

/**
 * Assembles code that creates a contract.
 *
 * @param runtime - hex without 0x
 * @param options.stored - a slot and the address that is stored there
 * @param options.logs - events that the constructor logs, each with one indexed address
 */
export function creating(
  runtime: string,
  options: {
    readonly stored?: readonly [slot: string, address: string];
    readonly logs?: readonly (readonly [topic: string, address: string])[];
  } = {},
): string {
  const { stored, logs = [] } = options;
  const store = stored === undefined ? '' : `7f${word(stored[1])}7f${stored[0].slice(2)}55`;
  const events = logs.map(([topic, address]) => `7f${word(address)}7f${topic.slice(2)}60006000a2`).join('');
  const length = runtime.length / 2;
  const at = (store.length + events.length) / 2 + 15;
  return `0x${store}${events}61${short(length)}61${short(at)}60003961${short(length)}6000f3${runtime}`;
}

/** Returns the address of the next contract of an account. */
export async function nextAddress(anvil: Anvil, from: string): Promise<string> {
  const nonce = Number(await anvil.rpc<string>('eth_getTransactionCount', from, 'pending'));
  return getCreateAddress({ from, nonce });
}
