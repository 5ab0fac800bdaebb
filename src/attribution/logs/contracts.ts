/** The contracts with logs that prove facts about addresses: data/attribution.json. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import { shippedData } from '../../base/paths.ts';
import { parseAddress } from '../../chains/address/parse.ts';
import { type ChainId, isEvm, parseChainId } from '../../chains/registry.ts';

/** Layouts of events. */
export const LOG_KINDS = [
  'v2-pools',
  'v3-pools',
  'safe-proxies',
  'erc4337-accounts',
  'tether-freezes',
  'circle-freezes',
  'bridged-tokens',
  'eigen-pods',
  'validator-deposits',
] as const;

export type LogKind = (typeof LOG_KINDS)[number];

export interface LogContract {
  /** Names the owner: `uniswap-v3`, `safe`, `tether`. */
  readonly id: string;
  readonly chain: ChainId;
  /** Canonical. */
  readonly address: string;
  readonly kind: LogKind;
  readonly source: string;
  readonly date: string;
}

/**
 * Reads the contracts.
 *
 * @throws STORE_CORRUPT naming the row and field that is wrong
 */
export function loadLogContracts(path: string = shippedData('attribution.json')): readonly LogContract[] {
  const file = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly contracts: readonly Record<string, string>[];
  };
  return file.contracts.map((row, at) => {
    const invalid = (field: string, expected: string): AssayError =>
      new AssayError(
        'STORE_CORRUPT',
        `${path}: contracts[${at}].${field} must be ${expected} (got "${row[field]}").`,
      );
    const chain = parseChainId(row.chain ?? '', 'chain');
    if (!isEvm(chain)) throw invalid('chain', 'an EVM chain');
    const kind = LOG_KINDS.find((known) => known === row.kind);
    if (kind === undefined) throw invalid('kind', `one of ${LOG_KINDS.join(', ')}`);
    if (!/^[a-z0-9-]{1,40}$/.test(row.id ?? '')) throw invalid('id', 'a short name in lower case');
    if (!/^https:\/\//.test(row.source ?? '')) throw invalid('source', 'a URL');
    if (!/^\d{4}-\d{2}-\d{2}$/.test(row.date ?? '')) throw invalid('date', 'an ISO date');
    return {
      id: row.id as string,
      chain,
      address: parseAddress(chain, row.address ?? '').canonical,
      kind,
      source: row.source as string,
      date: row.date as string,
    };
  });
}

/** Returns the name under which progress and facts of a contract are stored. */
export const nameOfContract = ({ id, address }: Pick<LogContract, 'id' | 'address'>): string =>
  `${id} ${address}`;
