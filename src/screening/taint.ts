/**
 * The taint section of a screening: which share of what an address received comes from whom, under the rule that was asked for. On
 * UTXO chains outputs are followed (all five rules); on account chains, whose coins have no past of their own, haircut and poison.
 */
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import type { NodeId } from '../graph/graph.ts';
import { RowReader } from '../graph/kernels/rows.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
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
import { percent, twoDecimals } from './counterparties.ts';
import { categoryShares, type FollowedSide } from './exposures.ts';

/** A rule, or all that the chain allows side by side. */
export type TaintChoice = TaintMethod | 'all';
export const TAINT_CHOICES: readonly TaintChoice[] = [...TAINT_METHODS, 'all'];

/** Rules that need no coin to have a past of its own. */
const ACCOUNT_METHODS: readonly TaintMethod[] = ['poison', 'haircut'];

const isUtxo = (chain: ChainId): boolean => chainOf(chain).family === 'utxo';

/** The rules that answer a choice on a chain. Throws INVALID_REQUEST for a rule of outputs on a chain without them. */
export function taintMethods(chain: ChainId, choice: TaintChoice): readonly TaintMethod[] {
  const allowed = isUtxo(chain) ? TAINT_METHODS : ACCOUNT_METHODS;
  if (choice === 'all') return allowed;
  if (allowed.includes(choice)) return [choice];
  throw new AssayError(
    'INVALID_REQUEST',
    `taint: ${choice} follows outputs, which ${chain} does not have; it takes ${allowed.join(', ')} or all.`,
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

/** Haircut on accounts: the exposure of what was received. */
const accountHaircut = (received: FollowedSide): TaintShares => ({
  method: 'haircut',
  received: categoryShares(received),
  ...NOT_OF_OUTPUTS,
  isTruncated: !received.isComplete,
});

/** Value that a node received from another, before or since a designation of that one. */
interface Received extends DatedValue {
  readonly from: NodeId;
}

/**
 * Poison on accounts: whoever received anything of a category, through however little and whomever within the hops, passes on nothing
 * else. A share is the value of the direct counterparties that the category reaches; shares overlap, and do not add up.
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
  let left = LIMITS.exposureNodesMax;

  const receivedBy = (node: NodeId): Received[] => {
    const columns = workspace.neighbours('in', LIMITS.counterpartiesMax);
    const basis = rows.basisOf(node, 'in');
    const { count } = rows.readFollowed(node, 'in', basis, LIMITS.counterpartiesMax, columns);
    return Array.from({ length: count }, (_, at) => at).flatMap((at) => {
      const from = columns.ids[at] as NodeId;
      const since = (fromMs: number): number => rows.since(node, from, 'in', basis, fromMs).weight;
      return datedValues(attributions.of(from), columns, at, since).map((part) => ({ ...part, from }));
    });
  };

  /** Categories that reach a node over at most so many further hops. */
  function categoriesOf(node: NodeId, hops: number, atMs: number): ReadonlySet<ExposureCategory> {
    const attribution = attributionAt(attributions.of(node), atMs);
    if (absorbs(attribution, derived)) return new Set([attribution.category]);
    const name = `${node} ${hops}`;
    const known = reached.get(name);
    if (known) return known;
    const found = new Set<ExposureCategory>();
    // A circle comes back to what is being read, and brings nothing new.
    reached.set(name, found);
    if (hops === 0) return found;
    if (rows.isHubIn(node, 'in', LIMITS.counterpartiesMax) || left-- <= 0) {
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

/** Percent of satoshi, exact to the second decimal. */
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
      transactions: LIMITS.screeningTaintTransactions,
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

/** The section. Without anything received that is known of, its methods are empty. */
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
