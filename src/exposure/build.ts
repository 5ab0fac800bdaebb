/**
 * Builds the index of a chain: the attribution of every address, every row of shares, a sweep in each direction, and the scores of the
 * results. Nothing is published before everything is on disk; an interrupted build leaves the current index unchanged, and restarts
 * from the beginning.
 */
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Direction } from '../graph/flow.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import type { TransferStore } from '../graph/store.ts';
import { type Building, beginBuild } from '../labels/index/folder.ts';
import { confidenceClass, isRisky } from '../risk/evidence.ts';
import { createAssessor } from '../screening/assess.ts';
import { type Attribution, absorbing } from '../screening/attribution.ts';
import type { Attributions } from '../screening/attributions.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { weighingOf } from '../screening/weighing.ts';
import { asStorageFull } from '../state/storage.ts';
import { openChanges } from './changes.ts';
import { Entries, type SweptReading } from './entries.ts';
import { createWalk, type RiskColumn } from './evaluate.ts';
import { FORMAT_VERSION, type IndexInputs, type IndexMeta } from './format.ts';
import { type NodeKinds, readKinds, type SweptAttribution, withoutColumns } from './kinds.ts';
import { markForgeable } from './notes.ts';
import { exposureFolderOf } from './reader.ts';
import { isEmptyRecord, RECORD_CATEGORIES } from './record.ts';
import { type DirectionRows, readRows, rowKinds } from './rows.ts';
import { type SweptShares, sweep } from './sweep.ts';
import { EntryWriter, writeIndex } from './write-index.ts';

export interface BuildExposureOptions {
  readonly chain: ChainId;
  /** Folder of all indexes. */
  readonly folder: string;
  readonly inputs: IndexInputs;
  readonly signal?: AbortSignal;
  /** Called a few times per second. */
  readonly onProgress?: (progress: BuildExposureProgress) => void;
}

export interface BuildExposureProgress {
  readonly step: 'labels' | 'rows' | 'sweep' | 'entries' | 'write';
  /** Fraction of the step, 0 to 1. */
  readonly part: number;
}

export interface BuildExposureDeps extends Omit<ScreeningDeps, 'transfers'> {
  readonly transfers: TransferStore;
  readonly log: Logger;
}

export interface BuildExposureReport extends IndexMeta {
  /** Number of entries that required a walk. */
  readonly walks: number;
  readonly hubs: number;
  readonly columns: number;
}

const DIRECTIONS = ['in', 'out'] as const;
/** Number of addresses between two progress reports. */
const REPORT_EVERY = 2 ** 14;

/** Returns the column of an attribution: one per risk category, confidence class and evidence class. */
function sweptOf(
  { category, confidence, class: evidenceClass, isFirm }: Attribution,
  deps: BuildExposureDeps,
): SweptAttribution<RiskColumn> {
  if (!isRisky(category, deps.policy)) return { column: null, name: '' };
  const quantised = confidenceClass(confidence);
  const column = { category, confidence: quantised, class: evidenceClass, isFirm };
  return { column, name: `${category} ${quantised} ${evidenceClass} ${isFirm}` };
}

function kindsOf(
  graph: TransferGraph,
  attributions: Attributions,
  deps: BuildExposureDeps,
  onNode: (node: NodeId) => void,
): NodeKinds<RiskColumn> {
  return readKinds<RiskColumn>({
    graph,
    weighing: weighingOf(graph.chain, deps),
    isSuspected: (node) => attributions.of(node).suspected !== undefined,
    attribution(node) {
      onNode(node);
      const found = absorbing(attributions.of(node), 'COUNTED');
      if (found === null) return null;
      const { until } = found;
      const before = until?.before ?? null;
      return {
        now: sweptOf(found, deps),
        until:
          until === undefined
            ? null
            : { fromMs: until.fromMs, before: before === null ? null : sweptOf(before, deps) },
      };
    },
  });
}

/** Returns the kinds without derived and weak labels; null if no such label marks a risk. */
const withoutDerived = (
  kinds: NodeKinds<RiskColumn>,
  graph: TransferGraph,
  weighing: Weighing,
): NodeKinds<RiskColumn> | null => withoutColumns(kinds, (column) => !column.isFirm, { graph, weighing });

/**
 * Builds the index of a chain and publishes it.
 *
 * @returns a report of the build
 * @throws NOT_READY if no transfer of the chain is stored
 * @throws STORE_BUSY if another process builds it
 * @throws STORAGE_FULL, which names the folder
 * @throws the reason of the signal if aborted
 */
export async function buildExposureIndex(
  { chain, folder, inputs, signal, onProgress }: BuildExposureOptions,
  deps: BuildExposureDeps,
): Promise<BuildExposureReport> {
  const { transfers, clock, log } = deps;
  const began = clock.monotonic();
  const asOfMs = clock.now();
  // Read before the graph: transfers that arrive in between are read again by an update.
  const position = transfers.logPosition(chain);
  const graph = transfers.graph(chain);
  if (position === null || graph === null)
    throw new AssayError(
      'NOT_READY',
      `No transfers of ${chain} are stored. Import some with \`assay ingest\` first.`,
    );
  const { maxHops } = inputs;
  const root = exposureFolderOf(folder, chain);
  let building: Building | null = null;
  try {
    building = beginBuild(root, { clock, log });
    const report = (step: BuildExposureProgress['step'], part: number): void => {
      signal?.throwIfAborted();
      onProgress?.({ step, part });
    };
    const everySome = (step: BuildExposureProgress['step'], from: number, to: number) => (node: NodeId) => {
      if (node % REPORT_EVERY === 0) report(step, from + ((to - from) * node) / graph.nodeCount);
    };
    const assessor = createAssessor(deps);
    const attributions = assessor.attributions(graph, deps.labels.current, null);
    const kinds = kindsOf(graph, attributions, deps, everySome('labels', 0, 1));
    const weighing = weighingOf(chain, deps);
    const rows = {} as Record<Direction, DirectionRows>;
    const shares = {} as Record<Direction, SweptShares>;
    const sharesLeftOut = {} as Record<Direction, SweptShares>;
    const kindsLeftOut = withoutDerived(kinds, graph, weighing);
    const sweeps = kindsLeftOut === null ? 2 : 4;
    let swept = 0;
    const sweepOne = (direction: Direction, by: NodeKinds<RiskColumn>): SweptShares => {
      const at = swept++;
      return sweep({
        rows: rows[direction],
        ...rowKinds(rows[direction], by),
        columns: by.columns.length,
        maxHops,
        onStep: (done, of) => report('sweep', (at + done / of) / sweeps),
      });
    };
    for (const [at, direction] of DIRECTIONS.entries()) {
      rows[direction] = readRows({
        graph,
        direction,
        weighing,
        kinds,
        onProgress: everySome('rows', at / 2, (at + 1) / 2),
      });
      shares[direction] = sweepOne(direction, kinds);
      if (kindsLeftOut !== null) sharesLeftOut[direction] = sweepOne(direction, kindsLeftOut);
    }
    const counted: SweptReading = { derived: 'COUNTED', kinds, shares };
    const leftOut: SweptReading | null =
      kindsLeftOut === null ? null : { derived: 'LEFT_OUT', kinds: kindsLeftOut, shares: sharesLeftOut };
    const isRisk = (node: NodeId): boolean => (kinds.kinds[node] as number) >= 0;
    const { isEvidence } = weighing;
    const forgeable = markForgeable(graph, { isRisky: isRisk, isEvidence }, everySome('entries', 0, 0));
    const entries = new Entries({ graph, attributions, rows, counted, leftOut, forgeable, maxHops }, deps);
    const walk = createWalk(chain, assessor, deps, maxHops);
    const writer = new EntryWriter(graph.nodeCount);
    const onEntry = everySome('entries', 0, 1);
    let walks = 0;
    for (let node = 1; node <= graph.nodeCount; node++) {
      onEntry(node);
      if (!entries.needsWalk(node)) {
        const record = entries.entryOf(node);
        if (record !== null) writer.add(node, record);
        continue;
      }
      walks++;
      if (walks % WALKS_A_REPORT === 0) report('entries', node / graph.nodeCount);
      const record = walk(graph, node);
      if (!isEmptyRecord(record)) writer.add(node, record);
    }
    report('write', 0);
    // The first reader would make them: an index that was published needs no more room.
    await openChanges(building.folder).close();
    const meta = await writeIndex(
      building.folder,
      { graph, entries: writer },
      {
        ...inputs,
        formatVersion: FORMAT_VERSION,
        categories: RECORD_CATEGORIES,
        position,
        asOfMs,
        builtInMs: Math.round(clock.monotonic() - began),
      },
    );
    building.publish(versionOf(meta));
    log.info({ chain, addresses: meta.addresses, entries: meta.entries, walks }, 'exposure index built');
    return { ...meta, walks, hubs: kinds.hubs.length, columns: kinds.columns.length };
  } catch (error) {
    // The error of a write does not name its file.
    throw asStorageFull(error, root);
  } finally {
    building?.end();
  }
}

const WALKS_A_REPORT = 256;

/** Returns the position in the log as 16 hexadecimal digits, which become part of the folder name. */
const versionOf = ({ position }: IndexMeta): string => position.ordinal.toString(16).padStart(16, '0');
