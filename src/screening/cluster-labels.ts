/**
 * What is known of one member of a cluster, said of the others: as labels of the source `cluster`, less sure than what they follow
 * from, and never as a sanction. Two services in one cluster mean that it joins strangers: then nothing is said, and it is reported.
 */
import { createHash } from 'node:crypto';
import type { AddressKey } from '../chains/address/address.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Cluster, ClusterReader } from '../graph/cluster/store.ts';
import type { DatasetReport, ImportDeps } from '../labels/import-report.ts';
import { importSegment } from '../labels/import-segment.ts';
import { type LabelReader, NOT_LABELLED } from '../labels/index/reader.ts';
import { createSegmentWriter } from '../labels/index/segment.ts';
import type { Label, LabelTemplate, SanctionsEntry } from '../labels/label.ts';
import { isDirectHit, isHistory } from './sanctions-detail.ts';

export const CLUSTER_SOURCE = 'cluster';

/** A guess about a guess is worth nothing. */
const LABEL_CONFIDENCE_MIN = 0.3;
/** Entries of lists that a label carries on: a party is on as many lists as there are. */
const ENTRIES_MAX = 8;
/** Conflicts that a report lists; the rest are counted. */
const CONFLICTS_LISTED_MAX = 100;
const CONFLICT_ENTITIES_MAX = 5;

export interface ClusterConflict {
  readonly clusterId: string;
  readonly size: number;
  /** Names of the entities that cannot all be its owner; the first of them. */
  readonly entities: readonly string[];
}

export interface SpreadCounts {
  /** Clusters with a labelled member. */
  readonly labelled: number;
  /** Clusters whose label was spread. */
  readonly spread: number;
  readonly conflicts: number;
  readonly conflictsListed: readonly ClusterConflict[];
  /** Clusters too large to be believed: nothing was spread in them. */
  readonly superClusters: number;
}

export interface SpreadReport extends SpreadCounts {
  readonly chain: ChainId;
  readonly labels: number;
  readonly dataset: DatasetReport;
}

export interface SpreadDeps {
  readonly clusters: Pick<ClusterReader, 'clusters'>;
  /** The snapshot whose labels are spread. */
  readonly labels: LabelReader;
}

/** What one cluster says of the members that nobody labelled. */
interface Verdict {
  readonly template: LabelTemplate;
  /** Members that need not be told: they are labelled so themselves. */
  readonly isTold: (labels: readonly Label[]) => boolean;
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The surest first; of equals by source and entity, so that the order of members decides nothing. */
const surest = (a: Label, b: Label): number =>
  b.confidence - a.confidence || byText(a.source, b.source) || byText(a.entity.id, b.entity.id);

/** Whether a label says who owns the address: not what was spread before, not synthetic ones, not what is over. */
const isEvidence = (label: Label): boolean =>
  label.source !== CLUSTER_SOURCE &&
  !label.synthetic &&
  label.confidence >= LABEL_CONFIDENCE_MIN &&
  !isHistory(label);

const isListed = (label: Label): boolean => label.sanctions.some((entry) => isDirectHit(entry));

function* labelledMembers(
  cluster: Cluster,
  chain: ChainId,
  labels: LabelReader,
): Generator<{ readonly key: AddressKey; readonly found: readonly Label[] }> {
  for (const key of cluster.memberKeys()) {
    const handle = labels.find(key, 0, key.length);
    yield { key, found: handle === NOT_LABELLED ? [] : labels.labels(handle, chain) };
  }
}

/** Sanctions of a member as information about the others: thought to share its owner, not listed themselves. */
function asClusterEntries(listed: readonly Label[]): readonly SanctionsEntry[] {
  const entries = new Map<string, SanctionsEntry>();
  for (const { sanctions } of listed) {
    for (const entry of sanctions) {
      if (isDirectHit(entry))
        entries.set(`${entry.list} ${entry.entityId}`, { ...entry, matchType: 'CLUSTER' });
    }
  }
  return [...entries.entries()]
    .sort(([a], [b]) => byText(a, b))
    .slice(0, ENTRIES_MAX)
    .map(([, entry]) => entry);
}

/** What the labels of a cluster's members say of the whole; a conflict where they name two owners; null where nothing. */
function judge(cluster: Cluster, chain: ChainId, labels: LabelReader): Verdict | ClusterConflict | null {
  const owners = new Map<string, Label>();
  const listed: Label[] = [];
  for (const { found } of labelledMembers(cluster, chain, labels)) {
    for (const label of found) {
      if (!isEvidence(label)) continue;
      if (isListed(label)) {
        listed.push(label);
        continue;
      }
      const known = owners.get(label.entity.id);
      if (!known || surest(label, known) < 0) owners.set(label.entity.id, label);
    }
  }
  const { clusterId, size, confidence, heuristics } = cluster;
  if (owners.size > 1) {
    const names = [...owners.values()].map(({ entity }) => entity.name).sort();
    return { clusterId, size, entities: names.slice(0, CONFLICT_ENTITIES_MAX) };
  }
  const [owner] = owners.values();
  const party = listed.sort(surest)[0];
  const from = owner ?? party;
  if (!from) return null;
  const { entity } = from;
  const template: LabelTemplate = {
    entity,
    scope: chain,
    // Who is thought to belong to a listed party is dangerous, and is not listed.
    category: owner ? owner.category : 'ILLICIT_ACTOR',
    threatLevel: owner ? owner.threatLevel : 'HIGH',
    source: CLUSTER_SOURCE,
    sourceUrl: from.sourceUrl,
    tags: [clusterId, `follows ${from.source}`, ...heuristics],
    // Down to two digits: always below what it follows from.
    confidence: Math.floor(from.confidence * confidence * 100) / 100,
    sanctions: asClusterEntries(listed),
    verified: from.verified,
    synthetic: false,
  };
  return {
    template,
    isTold: (found) =>
      found.some(
        (label) => isEvidence(label) && (label.entity.id === entity.id || (!owner && isListed(label))),
      ),
  };
}

/** Calls `add` for every label that clusters of a chain give to members. The same clusters and labels, the same calls. */
export function spreadLabels(
  chain: ChainId,
  deps: SpreadDeps,
  add: (key: AddressKey, template: LabelTemplate) => void,
  signal?: AbortSignal,
): SpreadCounts {
  const { clusters, labels } = deps;
  let labelled = 0;
  let spread = 0;
  let conflicts = 0;
  let superClusters = 0;
  const conflictsListed: ClusterConflict[] = [];
  for (const cluster of clusters.clusters(chain)) {
    signal?.throwIfAborted();
    if (cluster.isSuper) {
      superClusters++;
      continue;
    }
    const verdict = judge(cluster, chain, labels);
    if (verdict === null) continue;
    labelled++;
    if ('entities' in verdict) {
      conflicts++;
      if (conflictsListed.length < CONFLICTS_LISTED_MAX) conflictsListed.push(verdict);
      continue;
    }
    spread++;
    for (const { key, found } of labelledMembers(cluster, chain, labels))
      if (!verdict.isTold(found)) add(key, verdict.template);
  }
  return { labelled, spread, conflicts, conflictsListed, superClusters };
}

/**
 * Spreads labels over the clusters of a chain and keeps them as the dataset of the chain, in place of those before; the next build
 * of the index publishes them. Throws STORE_BUSY, and the signal's reason when aborted.
 */
export async function importClusterLabels(
  options: { readonly chain: ChainId; readonly signal?: AbortSignal },
  deps: SpreadDeps & { readonly importing: ImportDeps },
): Promise<SpreadReport> {
  const { chain, signal } = options;
  // Read once for what it says, so that saying the same again changes nothing in the store.
  const content = createHash('sha256').update(`cluster labels ${chain}\n`);
  let labels = 0;
  const counts = spreadLabels(
    chain,
    deps,
    (key, template) => {
      labels++;
      content.update(key).update(JSON.stringify(template)).update('\n');
    },
    signal,
  );
  const dataset = await importSegment(
    {
      source: CLUSTER_SOURCE,
      dataset: chain,
      layout: 'CLUSTER',
      contentHash: content.digest('hex'),
      files: [],
      publishedAt: null,
      write: async (path) => {
        const segment = createSegmentWriter(path);
        try {
          spreadLabels(
            chain,
            deps,
            (key, template) => segment.add(key, 0, key.length, segment.template(template), 0, 0),
            signal,
          );
        } catch (error) {
          segment.abort();
          throw error;
        }
        const stats = await segment.close();
        return { labels: stats.labels, records: stats.labels };
      },
    },
    deps.importing,
  );
  return { chain, labels, ...counts, dataset };
}
