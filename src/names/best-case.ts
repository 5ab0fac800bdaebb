/** The best that an alignment of two names could come to, from their edges alone: names whose best case is too low are not aligned. */

import type { Edge } from './align.ts';
import { INITIAL_COVERS, NAME_LEAST, namesIn, share } from './compare.ts';
import { type NamePart, PARTS_MAX } from './name-parts.ts';
import type { ParsedName } from './parse.ts';

/** Bounds of the features that any choice of pairs can have: no alignment is better. */
export interface BestCase {
  readonly coveredLess: number;
  readonly differences: number;
  /** Whether an error in one letter may be the only difference. */
  readonly slip: boolean;
  /** Whether a single name may be the match. */
  readonly partial: boolean;
  /** The weight of the heavier name. */
  readonly weight: number;
}

const mostLeft = new Float64Array(PARTS_MAX);
const mostRight = new Float64Array(PARTS_MAX);

/** Returns the bounds of all alignments that these pairs allow. */
export function bestCaseOf(left: ParsedName, right: ParsedName, edges: readonly Edge[]): BestCase {
  mostLeft.fill(0, 0, left.parts.length);
  mostRight.fill(0, 0, right.parts.length);
  let partial = namesIn(left) < 2 || namesIn(right) < 2;
  for (const each of edges) {
    const { similarity, kind } = each.meeting;
    const covers = kind === 'initial' ? Math.max(INITIAL_COVERS, similarity) : similarity;
    if (each.leftCount + each.rightCount > 2) partial = true;
    for (let at = each.left; at < each.left + each.leftCount; at++)
      if (covers > (mostLeft[at] as number)) mostLeft[at] = covers;
    for (let at = each.right; at < each.right + each.rightCount; at++)
      if (covers > (mostRight[at] as number)) mostRight[at] = covers;
  }
  return boundsOf(left, right, partial);
}

function boundsOf(left: ParsedName, right: ParsedName, partial: boolean): BestCase {
  const here = sideOf(left, mostLeft);
  const there = sideOf(right, mostRight);
  const differences = Math.min(here.against, there.against);
  return {
    coveredLess: Math.min(here.covered, there.covered),
    differences,
    slip: differences === 0 && here.alone < NAME_LEAST,
    partial,
    weight: Math.max(here.weight, there.weight),
  };
}

/** Sums up one name: its share that can match, and the parts that no pair contains. */
function sideOf(
  name: ParsedName,
  most: Float64Array,
): { readonly covered: number; readonly against: number; readonly alone: number; readonly weight: number } {
  let weight = 0;
  let found = 0;
  let against = 0;
  let alone = 0;
  for (let at = 0; at < name.parts.length; at++) {
    const part = name.parts[at] as NamePart;
    const covers = most[at] as number;
    weight += part.weight;
    found += part.weight * covers;
    if (covers > 0) continue;
    alone += part.weight;
    against += part.kind === 'name' ? 0.5 + part.weight / 2 : part.weight;
  }
  return { covered: share(found, weight), against, alone, weight };
}
