/** Labels of deposit addresses: from the records of a chain to a dataset of the label store. */
import { createHash } from 'node:crypto';
import type { ChainId } from '../../chains/registry.ts';
import type { TransferGraph } from '../../graph/graph.ts';
import type { DatasetReport, ImportDeps } from '../../labels/import-report.ts';
import { importSegment } from '../../labels/import-segment.ts';
import { dayFromIso } from '../../labels/index/days.ts';
import { type LabelReader, NOT_LABELLED } from '../../labels/index/reader.ts';
import { createSegmentWriter } from '../../labels/index/segment.ts';
import type { LabelTemplate } from '../../labels/label.ts';
import { isOfDispute } from '../disputes.ts';
import { type AttributionStore, type DepositRecord, type DepositState, forwardingsOf } from '../store.ts';
import { DEPOSIT_RULE_VERSION, depositConfidence, isSufficient } from './judge.ts';

/** Source of the labels, and id of the rule (data/sources.json). */
export const DEPOSIT_SOURCE = 'deposits';
export const DEPOSIT_RULE = 'exchange-deposit';

/** Returns the label of a record; null if its evidence is not enough. */
export function depositTemplate(
  chain: ChainId,
  record: DepositRecord,
  state: Pick<DepositState, 'entities'>,
): LabelTemplate | null {
  const count = forwardingsOf(record);
  const owner = state.entities[record.entity - 1];
  if (owner === undefined || !isSufficient(count, record.fundedBy !== null)) return null;
  return {
    entity: owner.entity,
    scope: chain,
    category: owner.category,
    threatLevel: owner.threatLevel,
    source: DEPOSIT_SOURCE,
    sourceUrl: null,
    tags: ['deposit address', `follows ${owner.source}`],
    // A derived label is never believed more than the label that it follows.
    confidence: Math.min(depositConfidence(count, record.kind), owner.confidence),
    sanctions: [],
    verified: false,
    synthetic: false,
  };
}

export interface DepositLabelsDeps {
  readonly store: AttributionStore;
  readonly graph: TransferGraph;
  readonly labels: LabelReader;
  readonly importing: ImportDeps;
  /** Returns whether an operator disputes the labels of an address. */
  readonly isDisputed: (key: Uint8Array) => boolean;
}

export interface DepositLabelsReport {
  readonly labels: number;
  /** Accounts with forwardings, but too few for a label. */
  readonly waiting: number;
  /** Accounts that other sources label: the rule adds no label to theirs. */
  readonly labelledOtherwise: number;
  /** Accounts whose labels an operator disputes. */
  readonly disputed: number;
  readonly dataset: DatasetReport;
}

type Add = (key: Uint8Array, template: LabelTemplate, firstDay: number, lastDay: number) => void;

const dayOf = (ms: number): number => dayFromIso(new Date(ms).toISOString());

function eachLabel(
  chain: ChainId,
  { store, graph, labels, isDisputed }: DepositLabelsDeps,
  add: Add,
  signal?: AbortSignal,
): Omit<DepositLabelsReport, 'dataset' | 'labels'> {
  const state = store.depositState();
  let waiting = 0;
  let labelledOtherwise = 0;
  let disputed = 0;
  if (state === null) return { waiting, labelledOtherwise, disputed };
  /** Equal labels share one object, so that the writer recognises them without comparing texts. */
  const shared = new Map<string, LabelTemplate>();
  for (const [node, record] of store.deposits()) {
    signal?.throwIfAborted();
    const template = depositTemplate(chain, record, state);
    if (template === null) {
      waiting++;
      continue;
    }
    const key = graph.keyOf(node);
    if (isDisputed(key)) {
      disputed++;
      continue;
    }
    const handle = labels.find(key, 0, key.length);
    if (
      handle !== NOT_LABELLED &&
      labels.labels(handle, chain).some((label) => label.source !== DEPOSIT_SOURCE && !isOfDispute(label))
    ) {
      labelledOtherwise++;
      continue;
    }
    const name = `${record.entity} ${template.confidence}`;
    const same = shared.get(name) ?? template;
    shared.set(name, same);
    add(key, same, dayOf(record.firstMs), dayOf(record.forwardings.at(-1)?.timestampMs ?? record.firstMs));
  }
  return { waiting, labelledOtherwise, disputed };
}

/**
 * Stores the labels of the records as the dataset of the chain, in place of the former ones. The next build of the index publishes them.
 *
 * @throws STORE_BUSY; the signal's reason if aborted
 */
export async function importDepositLabels(
  chain: ChainId,
  deps: DepositLabelsDeps,
  signal?: AbortSignal,
): Promise<DepositLabelsReport> {
  // The first pass only computes the content hash: importing the same labels again changes nothing.
  const content = createHash('sha256').update(`deposits ${chain} ${DEPOSIT_RULE_VERSION}\n`);
  let labels = 0;
  const names = new Map<LabelTemplate, string>();
  const counts = eachLabel(
    chain,
    deps,
    (key, template, first, last) => {
      labels++;
      let name = names.get(template);
      if (name === undefined) {
        name = JSON.stringify(template);
        names.set(template, name);
      }
      content.update(key).update(`${name} ${first} ${last}\n`);
    },
    signal,
  );
  const dataset = await importSegment(
    {
      source: DEPOSIT_SOURCE,
      dataset: chain,
      layout: 'ATTRIBUTION',
      contentHash: content.digest('hex'),
      files: [],
      publishedAt: null,
      write: async (path) => {
        const segment = createSegmentWriter(path);
        try {
          eachLabel(
            chain,
            deps,
            (key, template, first, last) =>
              segment.add(key, 0, key.length, segment.template(template), first, last),
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
  return { labels, ...counts, dataset };
}
