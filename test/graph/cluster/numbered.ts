/** Transactions with numbered addresses, as the outputs store gives them to a build of clusters, and the builds of a test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import type { AddressKey } from '../../../src/chains/address/address.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import {
  type BuildClustersOptions,
  buildClusters,
  type ClusterReport,
} from '../../../src/graph/cluster/build.ts';
import type { ClusterSource } from '../../../src/graph/cluster/scan.ts';
import { type AddressNumbers, type ClusterReader, openClusters } from '../../../src/graph/cluster/store.ts';

/** Numbers of addresses in the order of their first appearance. */
export class Numbering implements AddressNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #keys: AddressKey[] = [];

  numberOf(text: string | null): number {
    if (text === null) return 0;
    const { key } = parseAddress('BTC', text);
    const hex = Buffer.from(key).toString('hex');
    const known = this.#numbers.get(hex);
    if (known !== undefined) return known;
    this.#keys.push(key);
    this.#numbers.set(hex, this.#keys.length);
    return this.#keys.length;
  }

  addressNumber(_: unknown, key: AddressKey): number | null {
    return this.#numbers.get(Buffer.from(key).toString('hex')) ?? null;
  }

  addressKey(_: unknown, number: number): AddressKey | null {
    return this.#keys[number - 1] ?? null;
  }
}

/** Blocks of transactions by their `blockNumber`. `hashes` is the hash of each block, default: its height. */
export function sourceOf(
  transactions: Iterable<UtxoTransaction>,
  numbering: Numbering,
  hashOf: (height: number) => string = String,
): ClusterSource {
  const blocks = new Map<number, UtxoTransaction[]>();
  let count = 0;
  for (const tx of transactions) {
    count++;
    blocks.set(tx.blockNumber, [...(blocks.get(tx.blockNumber) ?? []), tx]);
  }
  const heights = [...blocks.keys()].sort((a, b) => a - b);
  return {
    firstBlock: heights[0] ?? null,
    lastBlock: heights.at(-1) ?? null,
    transactions: count,
    *blocks(from) {
      for (const height of heights.filter((one) => one >= from))
        yield {
          height,
          timestampMs: height * 600_000,
          transactions: (blocks.get(height) ?? []).map((tx) => ({
            tx,
            inputs: tx.inputs.map(({ address }) => numbering.numberOf(address)),
            outputs: tx.outputs.map(({ address }) => numbering.numberOf(address)),
          })),
        };
    },
    hashOf,
    keyOf: (number) => numbering.addressKey('BTC', number),
  };
}

/** A folder with the clusters of one chain. */
export class ClusterWorld {
  readonly folder: string;
  readonly numbering = new Numbering();
  readonly #readers: ClusterReader[] = [];

  /** `folder` is that of an earlier world, or by default a new one. */
  constructor(folder: string = mkdtempSync(join(tmpdir(), 'assay-clusters-'))) {
    this.folder = folder;
  }

  build(
    transactions: Iterable<UtxoTransaction> | ClusterSource,
    options: Partial<BuildClustersOptions> = {},
  ): Promise<ClusterReport> {
    const source = 'hashOf' in transactions ? transactions : sourceOf(transactions, this.numbering);
    return buildClusters(
      { chain: 'BTC', folder: this.folder, completeHistory: false, ...options },
      { source, clock: systemClock },
    );
  }

  open(superClusterSize?: number): ClusterReader {
    const options = superClusterSize === undefined ? {} : { superClusterSize };
    const reader = openClusters({ folder: this.folder, ...options }, { addresses: this.numbering });
    this.#readers.push(reader);
    return reader;
  }

  async end(): Promise<void> {
    for (const reader of this.#readers.splice(0)) await reader.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
