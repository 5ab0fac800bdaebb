/**
 * Shortens the data of a result until it fits: the longest lists and texts first, those of the fields that matter most last. Every cut
 * is reported, so that a shortened result is never taken for a complete one.
 */
import { MCP_LIMITS } from './limits.ts';
import { isList, isObject, type Json, type JsonObject } from './untrusted.ts';

/** A list or text that is not complete. */
export interface Cut {
  /** Path of the list or text: `entityLabels`, `results.0.topMatches`. */
  readonly field: string;
  /** Rows, or characters of a text, that are shown. */
  readonly shown: number;
  readonly total: number;
}

interface Candidate {
  readonly path: readonly string[];
  readonly bytes: number;
  /** Bytes, less for fields that matter. */
  readonly weight: number;
}

/** A list of a field that matters is cut only if it is this many times as long as another. */
const ESSENTIAL_FACTOR = 16;
/** A list loses at least a tenth of its rows at a time: the last cuts are small, and their number is bounded. */
const KEEP_SHARE = 0.9;

const bytesOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value));

const pathText = (path: readonly string[]): string => path.join('.');

/** Returns the value at a path; undefined if missing. */
export function valueAt(root: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = root;
  for (const name of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}

/** Returns a copy of `root` with another value at a path. */
function withValueAt(root: Json, path: readonly string[], value: Json): Json {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (isList(root)) return root.map((one, at) => (String(at) === name ? withValueAt(one, rest, value) : one));
  if (!isObject(root)) return root;
  return { ...root, [name]: withValueAt(root[name] ?? null, rest, value) };
}

/** Returns an object with lists of at most `listRowsReadMax` rows, so that no work is done for rows that cannot be shown. */
export function withReadRows(data: JsonObject): { readonly data: JsonObject; readonly cuts: readonly Cut[] } {
  const cuts: Cut[] = [];
  const fields = Object.entries(data).map(([field, value]) => {
    if (!isList(value) || value.length <= MCP_LIMITS.listRowsReadMax) return [field, value] as const;
    const rows = value.slice(0, MCP_LIMITS.listRowsReadMax);
    cuts.push({ field, shown: rows.length, total: value.length });
    return [field, rows] as const;
  });
  return { data: Object.fromEntries(fields), cuts };
}

/** Adds every list with more rows than `rowsMin`, and every long text below `value`. */
function collect(
  value: Json,
  path: readonly string[],
  rowsMin: number,
  essential: ReadonlySet<string>,
  found: Candidate[],
): void {
  const add = (): void => {
    const bytes = bytesOf(value);
    const weight = essential.has(path[0] ?? '') ? bytes / ESSENTIAL_FACTOR : bytes;
    found.push({ path, bytes, weight });
  };
  if (typeof value === 'string') {
    if (value.length > MCP_LIMITS.shortTextChars) add();
  } else if (isList(value)) {
    // The inner lists of a list with many rows wait until it has few.
    if (value.length > rowsMin) add();
    else
      for (const [at, one] of value.entries()) collect(one, [...path, String(at)], rowsMin, essential, found);
  } else if (isObject(value)) {
    for (const [name, one] of Object.entries(value)) collect(one, [...path, name], rowsMin, essential, found);
  }
}

const heaviest = (candidates: readonly Candidate[]): Candidate | undefined =>
  candidates.reduce<Candidate | undefined>(
    (best, one) => (best === undefined || one.weight > best.weight ? one : best),
    undefined,
  );

/** Returns the text or the list with fewer characters or rows, so that it loses about `excess` bytes, and keeps `rowsMin` rows. */
function shortened(
  value: string | readonly Json[],
  bytes: number,
  excess: number,
  rowsMin: number,
): string | readonly Json[] {
  if (typeof value === 'string') return `${value.slice(0, MCP_LIMITS.shortTextChars - 1).trimEnd()}…`;
  const share = Math.min(KEEP_SHARE, Math.max(0, 1 - excess / bytes));
  return value.slice(0, Math.max(rowsMin, Math.floor(value.length * share)));
}

/**
 * Shortens an object.
 *
 * @param bytesOfResult - returns the bytes of the result with these data and cuts
 * @param bytesMax - bytes that the result may have
 * @param essential - fields of the object that are shortened last
 * @param before - cuts of fields of the object that were made before
 */
export function shortenToFit(
  data: JsonObject,
  bytesOfResult: (data: JsonObject, cuts: readonly Cut[]) => number,
  bytesMax: number,
  essential: ReadonlySet<string>,
  before: readonly Cut[] = [],
): { readonly data: JsonObject; readonly cuts: readonly Cut[] } {
  let root: Json = data;
  const cuts = new Map<string, Cut & { readonly path: readonly string[] }>(
    before.map((cut) => [cut.field, { ...cut, path: [cut.field] }]),
  );
  // A cut inside a row that is gone is no cut of what is shown.
  const shownCuts = (): readonly Cut[] =>
    [...cuts.values()]
      .filter(({ path }) => path.length === 1 || valueAt(root, path) !== undefined)
      .map(({ path: _path, ...cut }) => cut);
  for (;;) {
    const resultBytes = bytesOfResult(root as JsonObject, shownCuts());
    if (resultBytes <= bytesMax) break;
    // A result contains its data more than once, so a byte of the data is more than one of the result.
    const excess = (resultBytes - bytesMax) * Math.min(1, bytesOf(root) / resultBytes);
    let chosen: Candidate | undefined;
    let rowsMin = 0;
    // Lists keep three rows, then one, then none, as long as there is another list with more.
    for (rowsMin of [3, 1, 0]) {
      const candidates: Candidate[] = [];
      collect(root, [], rowsMin, essential, candidates);
      chosen = heaviest(candidates);
      if (chosen !== undefined) break;
    }
    if (chosen === undefined) {
      // Nothing but short texts, numbers and maps is left: the largest field goes.
      const fields = Object.entries(root as JsonObject).map(([name, one]) => ({
        path: [name],
        bytes: bytesOf(one),
        weight: essential.has(name) ? bytesOf(one) / ESSENTIAL_FACTOR : bytesOf(one),
      }));
      const largest = heaviest(fields);
      if (largest === undefined) break;
      const [name = ''] = largest.path;
      const { [name]: _removed, ...others } = root as JsonObject;
      root = others;
      cuts.set(name, { field: name, path: [name], shown: 0, total: 1 });
      continue;
    }
    const { path, bytes } = chosen;
    const value = valueAt(root, path);
    if (typeof value !== 'string' && !(value !== undefined && isList(value))) break;
    const less = shortened(value, bytes, excess, rowsMin);
    const field = pathText(path);
    cuts.set(field, { field, path, shown: less.length, total: cuts.get(field)?.total ?? value.length });
    root = withValueAt(root, path, less);
  }
  return { data: root as JsonObject, cuts: shownCuts() };
}
