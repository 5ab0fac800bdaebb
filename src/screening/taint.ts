/**
 * The taint section of a screening: the share of an address's received value by category of origin, under the requested rule. On
 * UTXO chains, outputs are followed (all five rules). On account chains, where coins have no history of their own, only haircut
 * and poison apply.
 */
import { AssayError } from '../base/errors.ts';
import { percent, twoDecimals } from '../base/figures.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import type { NodeId } from '../graph/graph.ts';
import { RowReader } from '../graph/kernels/rows.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { AddressProvenance, TaintReader } from '../graph/utxo/taint-reader.ts';
import { TAINT_METHODS, type TaintMethod } from '../graph/utxo/taint-rules.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import type { ExposureCategory, TaintAnswer, TaintShares } from './answers.ts';
import { endOfDayMs } from './as-of.ts';
import type { Assessment, Place } from './assess.ts';
import {
  absorbs,
  attribute,
  attributionAt,
  type DatedValue,
  type DerivedReading,
  datedValues,
} from './attribution.ts';
import type { TAINT_CHOICES } from './choices.ts';
import { categoryShares } from './exposure-sections.ts';
import type { FollowedSide } from './exposures.ts';
import { SCREENING_LIMITS } from './limits.ts';

/** One rule, or all rules that the chain allows. */
export type TaintChoice = (typeof TAINT_CHOICES)[number];

/** Rules that do not need a history of single coins. */
const ACCOUNT_METHODS: readonly TaintMethod[] = ['poison', 'haircut'];

const isUtxo = (chain: ChainId): boolean => chainOf(chain).family === 'utxo';

/**
 * Returns the rules for a choice on a chain.
 *
 * @throws INVALID_REQUEST for a rule of outputs on a chain without outputs.
 */
export function taintMethods(chain: ChainId, choice: TaintChoice): readonly TaintMethod[] {
  const allowed = isUtxo(chain) ? TAINT_METHODS : ACCOUNT_METHODS;
  if (choice === 'all') return allowed;
  if (allowed.includes(choice)) return [choice];
  throw new AssayError(
    'INVALID_REQUEST',
    `taint: ${choice} requires transaction outputs, which ${chain} does not have; must be one of ${allowed.join(', ')}, all.`,
    { field: 'taint' },
  );
}

type Shares = Partial<Record<ExposureCategory, number>>;

const NOT_OF_OUTPUTS = {
  unspent: null,
  minedPercentage: null,
  unexploredPercentage: null,
  outputs: null,
} as const;

/** Haircut on accounts: the exposure of the received value. */
const accountHaircut = (received: FollowedSide): TaintShares => ({
  method: 'haircut',
  received: categoryShares(received),
  ...NOT_OF_OUTPUTS,
  isTruncated: !received.isComplete,
});

/** Value that a node received from another, before or since the designation of the other. */
interface Received extends DatedValue {
  readonly from: NodeId;
}

/**
 * Poison on accounts: if an address received anything of a category within the hops, however little and through whatever
 * addresses, everything that it passes on has that category. A share is the value of the direct counterparties that the category
 * reaches. Shares overlap, and do not add up.
 */
function accountPoison(
  { place, derived }: { readonly place: Place; readonly derived: DerivedReading },
  maxHops: number,
  workspace: KernelWorkspace,
): TaintShares {
  const { graph, attributions, weighing } = place;
  const rows = new RowReader(graph, weighing);
  const reached = new Map<string, ReadonlySet<ExposureCategory>>();
  let isTruncated = false;
  let left = SCREENING_LIMITS.exposureNodesMax;

  const receivedBy = (node: NodeId): Received[] => {
    const columns = workspace.neighbours('in', GRAPH_LIMITS.counterpartiesMax);
    const basis = rows.basisOf(node, 'in');
    const { count } = rows.readFollowed(node, 'in', basis, GRAPH_LIMITS.counterpartiesMax, columns);
    return Array.from({ length: count }, (_, at) => at).flatMap((at) => {
      const from = columns.ids[at] as NodeId;
      const since = (fromMs: number): number => rows.since(node, from, 'in', basis, fromMs).weight;
      return datedValues(attributions.of(from), columns, at, since).map((part) => ({ ...part, from }));
    });
  };

  /** Returns the categories that reach a node over at most `hops` further hops. */
  function categoriesOf(node: NodeId, hops: number, atMs: number): ReadonlySet<ExposureCategory> {
    const attribution = attributionAt(attributions.of(node), atMs);
    if (absorbs(attribution, derived)) return new Set([attribution.category]);
    const name = `${node} ${hops}`;
    const known = reached.get(name);
    if (known) return known;
    const found = new Set<ExposureCategory>();
    // A cycle returns to a node that is being read, and adds nothing new.
    reached.set(name, found);
    if (hops === 0) return found;
    if (rows.isHubIn(node, 'in', GRAPH_LIMITS.counterpartiesMax) || left-- <= 0) {
      isTruncated = true;
      return found;
    }
    for (const { from, value, atMs } of receivedBy(node)) {
      if (from === place.node || value === 0) continue;
      for (const category of categoriesOf(from, hops - 1, atMs)) found.add(category);
    }
    return found;
  }

  const received = receivedBy(place.node);
  const total = received.reduce((sum, { value }) => sum + value, 0);
  const sums = new Map<ExposureCategory, number>();
  for (const { from, value, atMs } of received) {
    const categories = value > 0 ? categoriesOf(from, maxHops - 1, atMs) : [];
    const named = [...categories];
    for (const category of named.length === 0 && value > 0 ? (['UNKNOWN'] as const) : named)
      sums.set(category, (sums.get(category) ?? 0) + value);
  }
  const shares: Shares = {};
  for (const [category, value] of [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)))
    shares[category] = twoDecimals(percent(value, total));
  return { method: 'poison', received: shares, ...NOT_OF_OUTPUTS, isTruncated };
}

/** Returns the percentage of amounts in satoshi, exact to the second decimal. */
const percentOf = (part: bigint, whole: bigint): number =>
  whole > 0n ? Number((10_000n * part + whole / 2n) / whole) / 100 : 0;

function outputShares(provenance: AddressProvenance<ExposureCategory>): TaintShares {
  const { method, total, shares, mined, unexplored, unknown, outputs, isTruncated, hasMoreOutputs } =
    provenance;
  const sharesOf = (sum: 'received' | 'unspent'): Shares => {
    const found: Shares = {};
    for (const share of shares)
      if (share[sum] > 0n) found[share.category] = percentOf(share[sum], total[sum]);
    const rest = unknown[sum] + unexplored[sum] + mined[sum];
    if (rest > 0n) found.UNKNOWN = percentOf(rest, total[sum]);
    return found;
  };
  return {
    method,
    received: sharesOf('received'),
    unspent: sharesOf('unspent'),
    minedPercentage: percentOf(mined.received, total.received),
    unexploredPercentage: percentOf(unexplored.received, total.received),
    outputs,
    isTruncated: isTruncated || hasMoreOutputs,
  };
}

export interface TaintSectionDeps {
  readonly policy: RiskPolicy;
  readonly workspace: KernelWorkspace;
  readonly taint: Pick<TaintReader, 'provenanceOf'>;
}

interface TaintSectionOptions {
  readonly methods: readonly TaintMethod[];
  readonly maxHops: number;
  readonly asOf: string | null;
}

function onOutputs(
  { subject, reader, derived }: Pick<Assessment, 'subject' | 'reader' | 'derived'>,
  { methods, maxHops, asOf }: TaintSectionOptions,
  { taint, policy }: TaintSectionDeps,
): TaintShares[] {
  const { chain, key } = subject;
  return methods.flatMap((method) => {
    const provenance = taint.provenanceOf<ExposureCategory>(chain, key, {
      method,
      transactions: SCREENING_LIMITS.screeningTaintTransactions,
      maxHops,
      ...(asOf === null ? {} : { untilMs: endOfDayMs(asOf) }),
      originOf(other) {
        const attribution = attribute(reader.lookup(other, chain), policy, asOf);
        return absorbs(attribution, derived) ? attribution.category : null;
      },
    });
    return provenance === null ? [] : [outputShares(provenance)];
  });
}

/** Returns the taint section. If no received value is known, its methods are empty. */
export function taintSection(
  assessment: Assessment,
  options: TaintSectionOptions,
  deps: TaintSectionDeps,
): TaintAnswer {
  const { subject, place, followed, derived } = assessment;
  if (isUtxo(subject.chain)) return { basis: 'OUTPUTS', methods: onOutputs(assessment, options, deps) };
  const received = followed.find(({ direction }) => direction === 'in');
  if (place === null || received === undefined) return { basis: 'ACCOUNTS', methods: [] };
  return {
    basis: 'ACCOUNTS',
    methods: options.methods.map((method) =>
      method === 'haircut'
        ? accountHaircut(received)
        : accountPoison({ place, derived }, options.maxHops, deps.workspace),
    ),
  };
}
