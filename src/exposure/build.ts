/**
 * Builds the index of a chain: every address's attribution, every row of shares, a sweep in each direction, and the score of what it
 * found. Nothing is published before all of it is on disk; an interrupted build leaves the index in force as it is, and begins again.
 */
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Direction } from '../graph/flow.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { Weighing } from '../graph/kernels/rows.ts';
import { createKernelWorkspace } from '../graph/kernels/workspace.ts';
import type { TransferStore } from '../graph/store.ts';
import { isDerived } from '../labels/evidence-class.ts';
import { beginBuild } from '../labels/index/folder.ts';
import { confidenceClass, type ExposureEvidence, isRisky } from '../risk/score.ts';
import { createAssessor } from '../screening/assess.ts';
import {
  type Attribution,
  type Attributions,
  absorbs,
  type DerivedReading,
} from '../screening/attribution.ts';
import { earlierDealings } from '../screening/before-designation.ts';
import {
  createSideReader,
  directEvidence,
  emptySide,
  measureOf,
  type Side,
} from '../screening/counterparties.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { labelEvidence } from '../screening/judge.ts';
import { directionBasis, weighingOf } from '../screening/weighing.ts';
import { createWalk, type EntryEvidence, type RiskColumn, recordOf } from './evaluate.ts';
import { FORMAT_VERSION, type IndexInputs, type IndexMeta } from './format.ts';
import { NEUTRAL, type NodeKinds, readKinds, type SweptAttribution, withoutColumns } from './kinds.ts';
import { createNotesReader } from './notes.ts';
import { exposureFolderOf } from './reader.ts';
import { type ExposureRecord, isEmptyRecord, RECORD_CATEGORIES } from './record.ts';
import { type DirectionRows, IS_BEFORE, ROW, readRows } from './rows.ts';
import { type SweptShares, sweep } from './sweep.ts';
import { EntryWriter, writeIndex } from './write-index.ts';

export interface BuildExposureOptions {
  readonly chain: ChainId;
  /** Folder of all indexes. */
  readonly folder: string;
  readonly inputs: IndexInputs;
  readonly signal?: AbortSignal;
  /** Called a few times a second. */
  readonly onProgress?: (progress: BuildExposureProgress) => void;
}

export interface BuildExposureProgress {
  readonly step: 'labels' | 'rows' | 'sweep' | 'entries' | 'write';
  /** Of the step, 0 to 1. */
  readonly part: number;
}

export interface BuildExposureDeps extends Omit<ScreeningDeps, 'transfers'> {
  readonly transfers: TransferStore;
  readonly log: Logger;
}

export interface BuildExposureReport extends IndexMeta {
  /** Entries that took a walk of their own. */
  readonly walks: number;
  readonly hubs: number;
  readonly columns: number;
}

const DIRECTIONS = ['in', 'out'] as const;
/** Addresses between two reports. */
const REPORT_EVERY = 2 ** 14;

/** A column for each category, class of confidence and class of evidence that is a risk. */
function sweptOf(
  { category, confidence, class: evidenceClass }: Attribution,
  deps: BuildExposureDeps,
): SweptAttribution<RiskColumn> {
  if (!isRisky(category, deps.policy)) return { column: null, name: '' };
  const quantised = confidenceClass(confidence);
  const column = { category, confidence: quantised, class: evidenceClass };
  return { column, name: `${category} ${quantised} ${evidenceClass}` };
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
    attribution(node) {
      onNode(node);
      const found = attributions.of(node);
      if (!absorbs(found, 'COUNTED')) return null;
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

/** The kinds if derived labels are left out; null if no label of something risky is derived. */
const withoutDerived = (
  kinds: NodeKinds<RiskColumn>,
  graph: TransferGraph,
  weighing: Weighing,
): NodeKinds<RiskColumn> | null =>
  withoutColumns(kinds, (column) => isDerived(column.class), { graph, weighing });

type PerDirection<T> = Readonly<Record<Direction, T>>;

/** The money of all addresses, followed with derived labels counted or left out (`DerivedReading`). */
interface SweptReading {
  readonly derived: DerivedReading;
  readonly kinds: NodeKinds<RiskColumn>;
  readonly shares: PerDirection<SweptShares>;
}

/** Inputs of the entries of one graph. */
interface Swept {
  readonly graph: TransferGraph;
  readonly attributions: Attributions;
  readonly rows: PerDirection<DirectionRows>;
  readonly counted: SweptReading;
  /** Null if no label of something risky is derived. */
  readonly leftOut: SweptReading | null;
  readonly maxHops: number;
}

/** Returns what makes the entry of an address out of what the sweeps found; null if it has none, or needs a walk (`needsWalk`). */
function createEntries(
  { graph, attributions, rows, counted, leftOut, maxHops }: Swept,
  deps: BuildExposureDeps,
) {
  const { policy } = deps;
  const { kinds } = counted;
  const weighing = weighingOf(graph.chain, deps);
  const readSide = createSideReader(createKernelWorkspace());
  const reader = deps.labels.current;
  const notesAt = createNotesReader({ graph, attributions, kinds, rows, weighing }, deps);
  const flow = { transfers: 0, unpricedTransfers: 0, valueUsd: null, byAsset: [] };

  /** Shares of what labelled direct counterparties have, risky or not. */
  function attributedShare(
    { start, other, share }: DirectionRows,
    kinds: NodeKinds<RiskColumn>,
    node: NodeId,
  ): number {
    let sum = 0;
    for (let at = start[node] as number; at < (start[node + 1] as number); at++) {
      const to = other[at] as number;
      const isBefore = to >= IS_BEFORE;
      const id = isBefore ? to - IS_BEFORE : to;
      const kind = isBefore ? (kinds.before.get(id)?.kind ?? NEUTRAL) : (kinds.kinds[id] as number);
      if (kind >= 0 || kind === NEUTRAL) sum += share[at] as number;
    }
    return sum;
  }

  const isServiceAt = (node: NodeId): boolean => {
    const kind = kinds.kinds[node] as number;
    if (kind < 0 && kind !== NEUTRAL) return false;
    return labelEvidence(reader.lookup(graph.keyOf(node), graph.chain), policy).isService;
  };

  const sentTo = (node: NodeId) => (other: NodeId) =>
    graph.edge(node, other).some(({ asset, amount }) => amount > 0n && weighing.isEvidence(asset));

  /** The evidence of one direction that is not direct, and of neutral value if direct evidence is not read. */
  function evidenceIn(
    { kinds, shares }: SweptReading,
    node: NodeId,
    direction: Direction,
    isDirect: boolean,
    into: ExposureEvidence[],
  ): number {
    const hubColumn = kinds.columns.length;
    const { start, item, share } = shares[direction];
    const row = rows[direction];
    const value = row.total[node] as number;
    const first = start[node] as number;
    const end = start[node + 1] as number;
    if (value === 0) return 0;
    const isAsset = ((row.flags[node] as number) & ROW.IS_ASSET) !== 0;
    // Only an asset without a price needs its name and how much of its greater flow this is.
    const basis = isAsset ? directionBasis(graph, node, direction, weighing) : null;
    const measured = (part: number) =>
      basis === null
        ? { asset: null, valueUsd: value * part, share: part }
        : measureOf({ ...basis, total: value }, part);
    let hubs = 0;
    let risks = 0;
    for (let at = first; at < end; at++) {
      const column = Math.floor((item[at] as number) / maxHops);
      const hops = ((item[at] as number) % maxHops) + 1;
      const part = share[at] as number;
      if (column === hubColumn) {
        hubs += part;
        continue;
      }
      if (hops === 1) continue;
      risks += part;
      const { category, confidence, class: evidenceClass } = kinds.columns[column] as RiskColumn;
      into.push({
        category,
        direction,
        hops,
        ...measured(part),
        confidence,
        class: evidenceClass,
        entity: null,
      });
    }
    const neutral = {
      category: 'UNKNOWN',
      direction,
      hops: 1,
      confidence: 1,
      class: 'published',
      entity: null,
    } as const;
    const dust = row.neutralDust[node] as number;
    if (isDirect || basis !== null) {
      const known = attributedShare(row, kinds, node);
      into.push({ ...neutral, ...measured(Math.max(0, 1 - known - risks)) });
      if (!isDirect && basis !== null)
        into.push({ ...neutral, ...measured((value * known + dust) / basis.total) });
    } else
      into.push({
        ...neutral,
        asset: null,
        valueUsd: value * Math.max(0, 1 - risks) + dust,
        share: 1 - risks,
      });
    return hubs;
  }

  const sidesOf = (node: NodeId): Side[] =>
    DIRECTIONS.map((direction) => {
      if (graph.degree(node, direction) === 0) return emptySide(direction, flow);
      return readSide({ graph, node, direction, flow, attributions, weighing });
    });

  /** The evidence of one reading, and the shares that ended at hubs. */
  function readAt(node: NodeId, sides: readonly Side[] | null, reading: SweptReading) {
    const isDirect = sides !== null;
    const exposures =
      sides === null
        ? []
        : directEvidence(sides, {
            policy,
            own: attributions.of(node),
            sentTo: sentTo(node),
            derived: reading.derived,
          });
    const hubShare = {
      in: evidenceIn(reading, node, 'in', isDirect, exposures),
      out: evidenceIn(reading, node, 'out', isDirect, exposures),
    };
    return { exposures, hubShare };
  }

  const isDerivedRisk = ({ category, class: evidenceClass }: ExposureEvidence): boolean =>
    isRisky(category, policy) && isDerived(evidenceClass);

  return {
    /** True for addresses of which a walk sees something else: hubs, those with dust alone, and those with a risky label of their own. */
    needsWalk(node: NodeId): boolean {
      const flags = (rows.in.flags[node] as number) | (rows.out.flags[node] as number);
      if ((flags & ROW.ALONE) !== 0) return true;
      const kind = kinds.kinds[node] as number;
      // Dealings within its own entity are neutral, and columns do not know the entity.
      return kind >= 0 && !isDerived((kinds.columns[kind] as RiskColumn).class);
    },
    entryOf(node: NodeId): ExposureRecord | null {
      const flags = (rows.in.flags[node] as number) | (rows.out.flags[node] as number);
      const isDirect = (flags & ROW.RISKY) !== 0;
      const isEarlier = (flags & ROW.EARLIER) !== 0;
      const isFound = DIRECTIONS.some(
        (direction) => counted.shares[direction].start[node] !== counted.shares[direction].start[node + 1],
      );
      const notes = notesAt(node);
      if (!isDirect && !isEarlier && !isFound && notes.length === 0) return null;
      const sides = isDirect || isEarlier ? sidesOf(node) : [];
      const first = readAt(node, isDirect ? sides : null, counted);
      const second =
        leftOut !== null && first.exposures.some(isDerivedRisk)
          ? readAt(node, isDirect ? sides : null, leftOut)
          : null;
      const hubIn = (direction: Direction): number =>
        Math.max(first.hubShare[direction], second?.hubShare[direction] ?? 0);
      const evidence: EntryEvidence = {
        exposures: first.exposures,
        exposuresLeftOut: second?.exposures ?? null,
        isService: isServiceAt(node),
        hubShare: { in: hubIn('in'), out: hubIn('out') },
        earlier: isEarlier ? earlierDealings(sides) : [],
        notes,
      };
      const record = recordOf(evidence, policy);
      return isEmptyRecord(record) ? null : record;
    },
  };
}

/**
 * Builds the index of a chain and puts it in force.
 *
 * @returns what was built
 * @throws NOT_READY if no transfer of the chain is stored, STORE_BUSY if another process builds it, the signal's reason if aborted
 */
export async function buildExposureIndex(
  { chain, folder, inputs, signal, onProgress }: BuildExposureOptions,
  deps: BuildExposureDeps,
): Promise<BuildExposureReport> {
  const { transfers, clock, log } = deps;
  const began = clock.monotonic();
  const asOfMs = clock.now();
  // Before the graph is read: a transfer that comes meanwhile is read again by an update.
  const position = transfers.logPosition(chain);
  const graph = transfers.graph(chain);
  if (position === null || graph === null)
    throw new AssayError(
      'NOT_READY',
      `No transfer of ${chain} is stored. Read some with \`assay ingest\` first.`,
    );
  const { maxHops } = inputs;
  const building = beginBuild(exposureFolderOf(folder, chain), { clock, log });
  try {
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
        kinds: by.kinds,
        before: by.before,
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
    const entries = createEntries({ graph, attributions, rows, counted, leftOut, maxHops }, deps);
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
  } finally {
    building.end();
  }
}

const WALKS_A_REPORT = 256;

/** 16 hexadecimal digits, which the folder's name carries: the position in the log. */
const versionOf = ({ position }: IndexMeta): string => position.ordinal.toString(16).padStart(16, '0');
