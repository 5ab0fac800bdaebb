/**
 * Bridge contracts from data/bridges.json: which bridge an address belongs to, and on which chains its deposits are paid out. This
 * module only says where to look; callers match a deposit with its payout.
 */
import { readFileSync } from 'node:fs';
import { AssayError, messageOf } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import type { AddressKey } from './address/address.ts';
import { maxKeyBytes, parseAddress, writeAddressKeyFromText } from './address/parse.ts';
import { type ChainId, chainOf, parseChainId } from './registry.ts';

/** The receiver on the other side: the sender of the deposit by default, or an address that the call states. */
export type BridgeRecipient = 'SENDER' | 'STATED';

export interface BridgeHit {
  readonly id: string;
  readonly name: string;
  /** Chains of the registry on which a deposit from this chain can be paid out. */
  readonly counterparts: readonly ChainId[];
  /** Those of them on which the depositor's own address exists; the payout is looked for at the same address there. */
  readonly sameAddress: readonly ChainId[];
  /** Destination chains that the registry does not have. */
  readonly elsewhere: readonly string[];
  readonly recipient: BridgeRecipient;
  /** The role of the contract in the source's own words (`token bridge`, `inbox`); null if only the entity is known. */
  readonly role: string | null;
  readonly sourceUrl: string;
  /** ISO date of the source. */
  readonly date: string;
  /** Whether the address is in a file that the project itself published. */
  readonly verified: boolean;
}

export interface Bridges {
  /** Returns the bridge of a contract; null for any other address. A contract matches only on its own chain. */
  of(chain: ChainId, key: AddressKey): BridgeHit | null;
  /**
   * Returns the bridge with the entity id of a label, as seen from a chain; null if it is not a bridge, or has no side on that chain.
   */
  ofEntity(chain: ChainId, entityId: string): BridgeHit | null;
  readonly contracts: number;
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const wrong = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_FILE', `bridges.json: ${field} must be ${expected}.`, { field });

function textIn(row: Json, name: string, at: string): string {
  const value = row[name];
  if (typeof value === 'string' && value !== '') return value;
  throw wrong(`${at}.${name}`, 'a text');
}

function textsIn(row: Json, name: string, at: string): string[] {
  const value = row[name];
  if (Array.isArray(value) && value.every((item): item is string => typeof item === 'string')) return value;
  throw wrong(`${at}.${name}`, 'a list of texts');
}

const rowsIn = (row: Json, name: string, at: string): readonly Json[] => {
  const value = row[name];
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw wrong(at === '' ? name : `${at}.${name}`, 'a list of objects');
};

const keyText = (chain: ChainId, key: AddressKey): string =>
  `${chain} ${Buffer.from(key).toString('latin1')}`;

/**
 * Returns the last four bytes of a key as a number. A screening asks for a thousand addresses, and few end like a contract: only of these, the text
 * of the key is made.
 */
function endOf(key: AddressKey): number {
  const last = key.length - 1;
  return (
    (key[last] as number) |
    ((key[last - 1] as number) << 8) |
    ((key[last - 2] as number) << 16) |
    ((key[last - 3] as number) << 24)
  );
}

const keyScratch = new Uint8Array(maxKeyBytes);

/** Returns the key of an address without its canonical text, which takes a hash: a thread that screens reads hundreds at its start. */
function keyIn(chain: ChainId, text: string): AddressKey {
  const length = writeAddressKeyFromText(chain, text, keyScratch, 0);
  // Throws with the reason.
  return length < 0 ? parseAddress(chain, text).key : keyScratch.slice(0, length);
}

/**
 * Parses a bridges document.
 *
 * @throws INVALID_FILE with the name of the field
 */
export function parseBridges(document: unknown): Bridges {
  if (!isObject(document)) throw wrong('the document', 'an object');
  const contracts = new Map<string, BridgeHit>();
  const ends = new Set<number>();
  const entities = new Map<string, BridgeHit>();
  for (const [index, row] of rowsIn(document, 'bridges', '').entries()) {
    const at = `bridges[${index}]`;
    const id = textIn(row, 'id', at);
    const recipient = textIn(row, 'recipient', at);
    if (recipient !== 'SENDER' && recipient !== 'STATED') throw wrong(`${at}.recipient`, 'SENDER or STATED');
    const chains = textsIn(row, 'chains', at).map((chain) => parseChainId(chain, `${at}.chains`));
    const hitOn = (chain: ChainId, source: Json, role: string | null, where: string): BridgeHit => {
      const counterparts = chains.filter((other) => other !== chain);
      const date = textIn(source, 'date', where);
      if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw wrong(`${where}.date`, 'an ISO date');
      if (typeof source.verified !== 'boolean') throw wrong(`${where}.verified`, 'true or false');
      return {
        id,
        name: textIn(row, 'name', at),
        counterparts,
        sameAddress: counterparts.filter((other) => chainOf(other).keyByte === chainOf(chain).keyByte),
        elsewhere: textsIn(row, 'elsewhere', at),
        recipient,
        role,
        sourceUrl: textIn(source, 'sourceUrl', where),
        date,
        verified: source.verified,
      };
    };
    for (const chain of chains) {
      for (const entity of textsIn(row, 'entities', at))
        entities.set(`${chain} ${entity}`, hitOn(chain, row, null, at));
    }
    for (const [place, contract] of rowsIn(row, 'contracts', at).entries()) {
      const where = `${at}.contracts[${place}]`;
      const chain = parseChainId(textIn(contract, 'chain', where), `${where}.chain`);
      if (!chains.includes(chain)) throw wrong(`${where}.chain`, `one of ${at}.chains`);
      const key = keyIn(chain, textIn(contract, 'address', where));
      const name = keyText(chain, key);
      if (contracts.has(name)) throw wrong(`${where}.address`, 'an address that no other contract has');
      contracts.set(name, hitOn(chain, contract, textIn(contract, 'role', where), where));
      ends.add(endOf(key));
    }
  }
  return {
    of: (chain, key) => (ends.has(endOf(key)) ? (contracts.get(keyText(chain, key)) ?? null) : null),
    ofEntity: (chain, entityId) => entities.get(`${chain} ${entityId}`) ?? null,
    contracts: contracts.size,
  };
}

/**
 * Reads data/bridges.json.
 *
 * @throws INVALID_FILE with the name of the field
 */
export function loadBridges(path: string = shippedData('bridges.json')): Bridges {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new AssayError('INVALID_FILE', `${path}: ${messageOf(error)}`, { cause: error });
  }
  return parseBridges(document);
}
