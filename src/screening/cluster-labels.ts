/**
 * Spreads the label of one member of a cluster to the other members: as a label of the source `cluster`, with lower confidence
 * than the original, and never as a sanction. Two services in one cluster mean that it joins addresses of different owners: then
 * nothing is spread, and the conflict is reported.
 */
import { createHash } from 'node:crypto';
import type { AddressKey } from '../chains/address/address.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Cluster, ClusterReader } from '../graph/cluster/store.ts';
import { isDerived } from '../labels/evidence-class.ts';
import type { DatasetReport, ImportDeps } from '../labels/import-report.ts';
import { importSegment } from '../labels/import-segment.ts';
import { type LabelReader, NOT_LABELLED } from '../labels/index/reader.ts';
import { createSegmentWriter } from '../labels/index/segment.ts';
import type { Label, LabelTemplate, SanctionsEntry } from '../labels/label.ts';
import { isDirectHit, isHistory } from './sanctions-detail.ts';

export const CLUSTER_SOURCE = 'cluster';

/** Labels below this confidence are not spread: a guess about a guess is worth nothing. */
const LABEL_CONFIDENCE_MIN = 0.3;
/** Maximum number of list entries in a spread label. A party can be on as many lists as exist. */
const ENTRIES_MAX = 8;
/** Maximum number of conflicts in a report; the rest are only counted. */
const CONFLICTS_LISTED_MAX = 100;
const CONFLICT_ENTITIES_MAX = 5;

export interface ClusterConflict {
  readonly clusterId: string;
  readonly size: number;
  /** Names of the entities that cannot all be its owner, limited to the first ones. */
  readonly entities: readonly string[];
}

export interface SpreadCounts {
  /** Clusters with a labelled member. */
  readonly labelled: number;
  /** Clusters with a label that was spread. */
  readonly spread: number;
  readonly conflicts: number;
  readonly conflictsListed: readonly ClusterConflict[];
  /** Clusters with a labelled member that are too large to be trusted: nothing was spread in them. */
  readonly superClusters: number;
}

export interface SpreadReport extends SpreadCounts {
  readonly chain: ChainId;
  readonly labels: number;
  readonly dataset: DatasetReport;
}

export interface SpreadDeps {
  readonly clusters: Pick<ClusterReader, 'clusters'>;
  /** The snapshot that has the labels to spread. */
  readonly labels: LabelReader;
}

/** The label for the unlabelled members of one cluster. */
interface Verdict {
  readonly template: LabelTemplate;
  /** Returns true if a member's own labels already say the same. */
  readonly isTold: (labels: readonly Label[]) => boolean;
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Orders by confidence, the highest first; equal ones by source and entity, so that the order of members does not matter. */
const surest = (a: Label, b: Label): number =>
  b.confidence - a.confidence || byText(a.source, b.source) || byText(a.entity.id, b.entity.id);

/** Returns true if a label identifies the owner of the address: neither spread nor synthetic nor weak nor history. */
const isEvidence = (label: Label): boolean =>
  // A derived label is never the reason for another one.
  !isDerived(label.class) &&
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

/** Returns the sanctions of a member as information about the others: they may share its owner, but are not listed themselves. */
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

/**
 * Returns the label for a whole cluster from the labels of its members; a conflict if they name two owners; null if they name no
 * owner and no listed party.
 */
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
    // A member that may belong to a listed party is dangerous, but it is not listed itself.
    category: owner ? owner.category : 'ILLICIT_ACTOR',
    threatLevel: owner ? owner.threatLevel : 'HIGH',
    source: CLUSTER_SOURCE,
    sourceUrl: from.sourceUrl,
    tags: [clusterId, `follows ${from.source}`, ...heuristics],
    // Rounded down to two digits: always below the confidence of the original label.
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

/** Calls `add` for every label that clusters of a chain give to members. The same clusters and labels give the same calls. */
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
  const isLabelled = (key: AddressKey): boolean => labels.find(key, 0, key.length) !== NOT_LABELLED;
  for (const cluster of clusters.clusters(chain, isLabelled)) {
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
 * Spreads labels over the clusters of a chain and stores them as the dataset of the chain, in place of the previous ones. The
 * next build of the index publishes them.
 *
 * @throws STORE_BUSY; the signal's reason if aborted.
 */
export async function importClusterLabels(
  options: { readonly chain: ChainId; readonly signal?: AbortSignal },
  deps: SpreadDeps & { readonly importing: ImportDeps },
): Promise<SpreadReport> {
  const { chain, signal } = options;
  // The first pass only computes the content hash, so that importing the same labels again changes nothing in the store.
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
