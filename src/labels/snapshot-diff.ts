/** Says what changed between two snapshots for a list of wallets: labels that were added, removed or changed, and sanctions. */
import type { ChainId } from '../chains/registry.ts';
import type { LabelReader } from './index/reader.ts';
import type { Label } from './label.ts';
import { type LabelJson, labelToJson } from './label-json.ts';

/** One wallet of the list. */
export interface ComparedWallet {
  readonly chain: ChainId;
  readonly address: string;
  readonly key: Uint8Array;
  /** The customer's own id of the wallet; null if the list has none. */
  readonly reference: string | null;
}

export interface LabelChange {
  readonly chain: ChainId;
  readonly address: string;
  readonly reference: string | null;
  /** `changed`: a label of the same source, entity and category with other facts. */
  readonly change: 'added' | 'removed' | 'changed';
  readonly source: string;
  readonly class: string;
  readonly category: string;
  readonly threatLevel: string;
  readonly entityId: string;
  readonly entity: string;
  /** Fields of a changed label that differ. */
  readonly fields: readonly string[];
  /** Whether a list sanctions the address itself, before and after. */
  readonly wasSanctioned: boolean;
  readonly isSanctioned: boolean;
}

export interface DiffCounts {
  readonly wallets: number;
  readonly changedWallets: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Wallets that a list sanctions now and did not before, and the reverse. */
  readonly newlySanctioned: number;
  readonly noLongerSanctioned: number;
}

/** Labels of one source about one entity and category are the same label, with other facts. */
const identityOf = (label: LabelJson): string => `${label.source}\n${label.entityId}\n${label.category}`;

/** Fields of two labels that differ. */
const differing = (before: LabelJson, after: LabelJson): string[] =>
  (Object.keys(after) as (keyof LabelJson)[]).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );

function grouped(labels: readonly Label[]): Map<string, LabelJson[]> {
  const groups = new Map<string, LabelJson[]>();
  for (const label of labels.map(labelToJson)) {
    const key = identityOf(label);
    groups.set(key, [...(groups.get(key) ?? []), label]);
  }
  return groups;
}

/** Compares two snapshots, one wallet at a time. */
export class SnapshotDiff {
  readonly #before: LabelReader;
  readonly #after: LabelReader;
  readonly #counts = {
    wallets: 0,
    changedWallets: 0,
    added: 0,
    removed: 0,
    changed: 0,
    newlySanctioned: 0,
    noLongerSanctioned: 0,
  };

  constructor(before: LabelReader, after: LabelReader) {
    this.#before = before;
    this.#after = after;
  }

  get counts(): DiffCounts {
    return { ...this.#counts };
  }

  /** Returns the changes of one wallet: removed labels, then added and changed ones. */
  compare(wallet: ComparedWallet): readonly LabelChange[] {
    const { chain, key, address, reference } = wallet;
    const counts = this.#counts;
    counts.wallets++;
    const handleBefore = this.#before.find(key, 0, key.length);
    const handleAfter = this.#after.find(key, 0, key.length);
    if (handleBefore < 0 && handleAfter < 0) return [];
    const wasSanctioned = this.#before.isSanctioned(handleBefore, chain);
    const isSanctioned = this.#after.isSanctioned(handleAfter, chain);
    if (isSanctioned && !wasSanctioned) counts.newlySanctioned++;
    if (wasSanctioned && !isSanctioned) counts.noLongerSanctioned++;
    const before = grouped(this.#before.labels(handleBefore, chain));
    const after = grouped(this.#after.labels(handleAfter, chain));
    const changes: LabelChange[] = [];
    const add = (label: LabelJson, change: LabelChange['change'], fields: readonly string[]): void => {
      counts[change]++;
      changes.push({
        chain,
        address,
        reference,
        change,
        source: label.source,
        class: label.class,
        category: label.category,
        threatLevel: label.threatLevel,
        entityId: label.entityId,
        entity: label.name,
        fields,
        wasSanctioned,
        isSanctioned,
      });
    };
    for (const [key, labels] of before)
      for (const label of labels.slice(after.get(key)?.length ?? 0)) add(label, 'removed', []);
    for (const [key, labels] of after) {
      const earlier = before.get(key) ?? [];
      for (const [at, label] of labels.entries()) {
        const old = earlier[at];
        if (old === undefined) add(label, 'added', []);
        else {
          const fields = differing(old, label);
          if (fields.length > 0) add(label, 'changed', fields);
        }
      }
    }
    if (changes.length > 0) counts.changedWallets++;
    return changes;
  }
}
