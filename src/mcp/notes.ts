/** Sentences about the limits of a result as evidence. They contain nothing that third parties wrote. */
import { isList, isObject, type Json, type JsonObject, visibleText } from './untrusted.ts';

const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  value !== undefined && isList(value) ? value.filter(isObject) : [];

/** Returns the parts of `coverage` that are not complete: `graph NONE, history PARTIAL`. */
function gapsOf(coverage: Json | undefined): string {
  if (!isObject(coverage)) return '';
  return Object.entries(coverage)
    .flatMap(([part, entry]) =>
      isObject(entry) && (entry.status === 'NONE' || entry.status === 'PARTIAL')
        ? [`${part} ${entry.status}`]
        : [],
    )
    .join(', ');
}

/** Returns the ids of lists that are marked as stale. */
const staleIn = (lists: Json | undefined): readonly string[] =>
  objectsIn(lists).flatMap(({ list, stale }) =>
    stale === true && typeof list === 'string' ? [visibleText(list)] : [],
  );

/** Returns the sentences for `data` of any operation. */
export function notesOf(data: JsonObject): readonly string[] {
  const notes: string[] = [];
  if (data.assessed === false)
    notes.push(
      'Not assessed: nothing is known about the subject. Not known is not clean, and a score has no meaning.',
    );
  const gaps = gapsOf(data.coverage);
  if (gaps !== '') notes.push(`Not complete: ${gaps}. What was not read cannot have been found.`);
  const covered = isObject(data.coverage) ? Object.values(data.coverage) : [];
  const stale = [
    ...staleIn(data.lists),
    ...covered.flatMap((entry) => (isObject(entry) ? staleIn(entry.lists) : [])),
  ];
  if (stale.length > 0)
    notes.push(
      `Stale or missing lists: ${[...new Set(stale)].join(', ')}. Results are as old as these lists.`,
    );
  else if (objectsIn(data.reasons).some(({ code }) => code === 'STALE_OR_MISSING_DATA'))
    notes.push('Lists are stale or missing: see `reasons`. Results are as old as these lists.');
  const cluster = data.clusterAnalysis;
  if (isObject(cluster) && cluster.clusterId !== null)
    notes.push('The cluster is a heuristic: its addresses probably, not certainly, have one owner.');
  if (typeof data.riskScore === 'number' && data.scoreBreakdown !== undefined)
    notes.push('The points of scoreBreakdown add up to the score before its cap at 100.');
  if (objectsIn(data.results).some(({ totalMatches }) => totalMatches === 0))
    notes.push('No match is not proof: it holds for the lists, and on the dates, in `coverage`.');
  return notes;
}
