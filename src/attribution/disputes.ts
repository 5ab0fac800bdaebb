/**
 * Disputes: an operator's decision that the labels of an address are wrong, with the reason. A dispute is an own label that comes first, and
 * the rules give a disputed address no label. Lists of sanctions are not affected. All disputes are in one file, `disputes.json`.
 */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import type { ChainId } from '../chains/registry.ts';
import type { ImportDeps } from '../labels/import-report.ts';
import { importSegment } from '../labels/import-segment.ts';
import { dayFromIso } from '../labels/index/days.ts';
import { createSegmentWriter } from '../labels/index/segment.ts';
import type { LabelTemplate } from '../labels/label.ts';
import { createMapper } from '../labels/map.ts';
import type { Category, ThreatLevel } from '../labels/taxonomy.ts';
import type { Subject } from '../screening/subject.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import { withLock } from '../state/writer-lock.ts';
import { ATTRIBUTION_LIMITS } from './limits.ts';
import { checkedReason } from './reason.ts';

export interface Dispute {
  readonly chain: ChainId;
  /** As answers write addresses. */
  readonly address: string;
  /** Hex of the key of the address. */
  readonly key: string;
  readonly reason: string;
  /** ISO time. */
  readonly disputedAt: string;
  /** Content of the own label. */
  readonly entityId: string;
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  /** Categories of published labels that the dispute clears the address of. */
  readonly corrects: readonly Category[];
}

export interface DisputeRequest {
  readonly subject: Subject;
  readonly reason: string;
  /** Stable id of the party behind the address; null if it is not known. */
  readonly entityId: string | null;
  readonly name: string | null;
  readonly category: string | null;
  readonly corrects: readonly Category[];
}

/** Dataset of the own labels of disputes. */
export const DISPUTES_DATASET = 'disputes';
const OWN = 'own';
const FORMAT = 1;
/** Another command replaces one small file while it holds the lock. */
const LOCK_WAIT_MS = 10_000;

/** An own label that only says that the others are wrong. */
const UNKNOWN_PARTY = { entityId: 'disputed', name: 'Disputed attribution', category: 'OTHER' } as const;

interface DisputesFile {
  readonly format: number;
  readonly disputes: readonly Dispute[];
}

const nameOf = (chain: ChainId, key: string): string => `${chain} ${key}`;
const hexOf = (key: Uint8Array): string => Buffer.from(key).toString('hex');

/** The disputes of an installation. Reading them again costs one `stat` if nothing changed. */
export class Disputes {
  readonly #folder: string;
  readonly #path: string;
  #known: ReadonlyMap<string, Dispute> = new Map();
  #seen = '';

  /** @param folder - folder of attributions */
  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, 'disputes.json');
  }

  #read(): ReadonlyMap<string, Dispute> {
    const stats = statSync(this.#path, { throwIfNoEntry: false });
    const seen = stats === undefined ? '' : `${stats.ino} ${stats.mtimeMs} ${stats.size}`;
    if (seen === this.#seen) return this.#known;
    const file = stats === undefined ? null : (readJson(this.#path) as DisputesFile | null);
    if (file !== null && (file.format !== FORMAT || !Array.isArray(file.disputes)))
      throw new AssayError(
        'STORE_CORRUPT',
        `${this.#path} is not a file of disputes of this version. Move it away, and dispute the labels again.`,
      );
    this.#known = new Map((file?.disputes ?? []).map((one) => [nameOf(one.chain, one.key), one]));
    this.#seen = seen;
    return this.#known;
  }

  /** Returns all disputes, oldest first. */
  list(): readonly Dispute[] {
    return [...this.#read().values()];
  }

  /** Returns the dispute of an address; null if there is none. */
  of(chain: ChainId, key: Uint8Array): Dispute | null {
    const known = this.#read();
    return known.size === 0 ? null : (known.get(nameOf(chain, hexOf(key))) ?? null);
  }

  /**
   * Stores a dispute and its own label, in place of an earlier one of the same address. The next build of the index publishes it.
   *
   * @throws INVALID_REQUEST if a field is wrong, or there are too many disputes; STORE_BUSY
   */
  async add(request: DisputeRequest, importing: ImportDeps, now: string): Promise<Dispute> {
    const dispute = disputeOf(request, importing, now);
    await this.#change((disputes) => {
      const name = nameOf(dispute.chain, dispute.key);
      if (!disputes.has(name) && disputes.size >= ATTRIBUTION_LIMITS.disputesMax)
        throw new AssayError(
          'INVALID_REQUEST',
          `There are ${ATTRIBUTION_LIMITS.disputesMax} disputes, the maximum. Import further corrections as own labels.`,
        );
      disputes.set(name, dispute);
    }, importing);
    return dispute;
  }

  /**
   * Withdraws a dispute.
   *
   * @throws NOT_FOUND if the address has none; STORE_BUSY
   */
  async remove({ chain, key, shown }: Subject, importing: ImportDeps): Promise<Dispute> {
    let removed: Dispute | undefined;
    await this.#change((disputes) => {
      const name = nameOf(chain, hexOf(key));
      removed = disputes.get(name);
      if (removed === undefined)
        throw new AssayError('NOT_FOUND', `address: ${shown} on ${chain} has no dispute.`, {
          field: 'address',
        });
      disputes.delete(name);
    }, importing);
    return removed as unknown as Dispute;
  }

  async #change(change: (disputes: Map<string, Dispute>) => void, importing: ImportDeps): Promise<void> {
    await withLock(join(this.#folder, 'disputes-lock'), { waitMs: LOCK_WAIT_MS }, async () => {
      const disputes = new Map(this.#read());
      change(disputes);
      // The labels first: if the file cannot be written, the same command is repeated, and importing the same labels is a no-op.
      await importOwnLabels([...disputes.values()], importing);
      writeJsonAtomically(this.#path, { format: FORMAT, disputes: [...disputes.values()] });
    });
  }
}

function disputeOf(
  { subject, reason, entityId, name, category, corrects }: DisputeRequest,
  importing: ImportDeps,
  now: string,
): Dispute {
  const text = checkedReason('reason', reason);
  const party = { ...UNKNOWN_PARTY, ...(category === null ? {} : { category: category.toUpperCase() }) };
  const own = {
    type: 'address',
    ...{
      address: subject.shown,
      currency: subject.chain,
      actorId: entityId ?? (name === null ? party.entityId : null),
    },
    ...{ actorName: name ?? entityId ?? party.name, category: party.category, concepts: [], tags: [] },
    ...{ confidence: '1', jurisdiction: null, url: null, firstSeen: null, lastSeen: null },
    ...{ isContract: null, verified: true, provenance: { file: 'disputes', line: 1 } },
  } as const;
  const mapped = createMapper(importing.rules).labelsOn(OWN, own, subject.chain);
  const template = mapped.ok ? mapped.labels[0]?.template : undefined;
  if (template === undefined)
    throw new AssayError('INVALID_REQUEST', mapped.ok ? 'The label is not usable.' : mapped.reason, {
      field: 'category',
    });
  return {
    ...{ chain: subject.chain, address: subject.shown, key: hexOf(subject.key), reason: text },
    ...{ disputedAt: now, entityId: template.entity.id, name: template.entity.name },
    ...{ category: template.category, threatLevel: template.threatLevel, corrects },
  };
}

/** Whether an own label is that of a dispute. Of an address without one, it is of a dispute that was withdrawn since the index was built. */
export const isOfDispute = ({ source, tags }: Pick<LabelTemplate, 'source' | 'tags'>): boolean =>
  source === 'own' && tags[0] === 'disputed' && tags[1]?.startsWith('reason: ') === true;

const templateOf = (dispute: Dispute): LabelTemplate => ({
  entity: {
    ...{ id: dispute.entityId, name: dispute.name, category: dispute.category },
    ...{ jurisdiction: null, url: null },
  },
  scope: dispute.chain,
  category: dispute.category,
  threatLevel: dispute.threatLevel,
  source: OWN,
  sourceUrl: null,
  tags: [
    'disputed',
    `reason: ${dispute.reason}`,
    ...dispute.corrects.map((category) => `corrects:${category}`),
  ],
  confidence: 1,
  sanctions: [],
  verified: true,
  synthetic: false,
});

/** Stores the own labels of all disputes as one dataset, in place of the former one. */
async function importOwnLabels(disputes: readonly Dispute[], importing: ImportDeps): Promise<void> {
  await importSegment(
    {
      ...{ source: OWN, dataset: DISPUTES_DATASET, layout: 'DISPUTES', files: [], publishedAt: null },
      contentHash: createHash('sha256').update(JSON.stringify(disputes)).digest('hex'),
      write: async (path) => {
        const segment = createSegmentWriter(path);
        try {
          for (const dispute of disputes) {
            const key = Buffer.from(dispute.key, 'hex');
            const day = dayFromIso(dispute.disputedAt);
            segment.add(key, 0, key.length, segment.template(templateOf(dispute)), day, 0);
          }
        } catch (error) {
          segment.abort();
          throw error;
        }
        const { labels } = await segment.close();
        return { labels, records: labels };
      },
    },
    importing,
  );
}
