/**
 * The manifest of a label snapshot: its sources with their licences, classes and dates, and its counts. It describes the snapshot to
 * readers of an exported copy; the snapshot's checksum in it connects the two.
 */
import { SOURCES } from '../sources/index.ts';
import type { Source } from '../sources/source.ts';
import type { EvidenceClass } from './evidence-class.ts';
import type { LabelCounts, SnapshotMeta } from './index/reader.ts';
import type { SourceTable } from './source-table.ts';

export interface ManifestSource {
  readonly id: string;
  readonly dataset: string;
  readonly publisher: string | null;
  readonly licence: string | null;
  /** Why the licence restricts the use of the data; null if it does not. */
  readonly restriction: string | null;
  readonly class: EvidenceClass;
  readonly independenceGroup: string | null;
  readonly publishedAt: string | null;
  readonly importedAt: string;
  readonly url: string | null;
  readonly labels: number;
  readonly lists: readonly string[];
}

export interface SnapshotManifest {
  readonly format: 1;
  readonly dataVersion: string;
  /** SHA-256 over the values of the snapshot, hex: `assay verify` computes it again. */
  readonly checksum: string;
  readonly builtAt: string;
  readonly real: LabelCounts;
  readonly synthetic: LabelCounts;
  /** Imported labels by class of their source; the same label of two datasets counts twice. */
  readonly byClass: Readonly<Record<string, number>>;
  readonly byCategory: Readonly<Record<string, number>>;
  readonly byChain: Readonly<Record<string, number>>;
  readonly sources: readonly ManifestSource[];
  /** Licences of the sources, each once. A snapshot with a restricted one must not be passed on without its terms. */
  readonly licences: readonly string[];
  readonly restricted: readonly string[];
  /** Sources that state no licence: facts of this program, and your own files, whose terms you know. */
  readonly withoutLicence: readonly string[];
}

/** Describes a snapshot. */
export function manifestOf(
  meta: SnapshotMeta,
  table: SourceTable,
  descriptors: readonly Source[] = SOURCES,
): SnapshotManifest {
  const described = new Map(descriptors.map((source) => [source.id, source]));
  const sources = meta.sources.map((row): ManifestSource => {
    const source = described.get(row.id);
    return {
      id: row.id,
      dataset: row.dataset,
      publisher: source?.publisher ?? table.of(row.id)?.publisher ?? null,
      licence: source?.licence ?? null,
      restriction: source?.restriction ?? null,
      class: table.classOf(row.id),
      independenceGroup: table.of(row.id)?.independenceGroup ?? null,
      publishedAt: row.publishedAt,
      importedAt: row.importedAt,
      url: row.url,
      labels: row.labels,
      lists: row.lists,
    };
  });
  const idsOf = (chosen: readonly ManifestSource[]): readonly string[] =>
    [...new Set(chosen.map(({ id }) => id))].sort();
  const byClass: Record<string, number> = {};
  for (const source of sources) byClass[source.class] = (byClass[source.class] ?? 0) + source.labels;
  const { dataVersion, checksum, builtAt, real, synthetic, byCategory, byChain } = meta;
  return {
    format: 1,
    dataVersion,
    checksum,
    builtAt,
    real,
    synthetic,
    byClass,
    byCategory,
    byChain,
    sources,
    licences: [...new Set(sources.flatMap(({ licence }) => licence ?? []))].sort(),
    restricted: idsOf(sources.filter(({ restriction }) => restriction !== null)),
    withoutLicence: idsOf(sources.filter(({ licence }) => licence === null)),
  };
}
