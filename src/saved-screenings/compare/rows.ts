/** Differences between two lists of rows, such as the labels of two answers. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../json.ts';

/** A value before and after. Null on the side that does not have it. */
export interface Change {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface RowChanges {
  readonly added: readonly JsonObject[];
  readonly removed: readonly JsonObject[];
  /** Rows about the same fact that differ in other fields. */
  readonly changed: readonly {
    readonly before: JsonObject;
    readonly after: JsonObject;
    readonly fields: readonly string[];
  }[];
}

/** Returns the names of the fields in which two objects differ. */
export const fieldsThatDiffer = (before: JsonObject, after: JsonObject): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (field) => !isDeepStrictEqual(before[field], after[field]),
  );

/** Returns the fields that differ, with both values. */
export const changesOf = (before: JsonObject, after: JsonObject): readonly Change[] =>
  fieldsThatDiffer(before, after).map((field) => ({
    field,
    before: before[field] ?? null,
    after: after[field] ?? null,
  }));

/** Returns rows by what they are about. Rows about the same are numbered, so that none hides another. */
function byKey(rows: readonly JsonObject[], fields: readonly string[]): ReadonlyMap<string, JsonObject> {
  const keyed = new Map<string, JsonObject>();
  const counts = new Map<string, number>();
  for (const row of rows) {
    const key = JSON.stringify(fields.map((field) => row[field] ?? null));
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    keyed.set(`${count} ${key}`, row);
  }
  return keyed;
}

/**
 * Compares two lists.
 *
 * @param fields - the fields that say what a row is about
 * @returns null if one of the answers does not have the list
 */
export function rowChanges(
  before: readonly JsonObject[] | null,
  after: readonly JsonObject[] | null,
  fields: readonly string[],
): RowChanges | null {
  if (before === null || after === null) return null;
  const old = byKey(before, fields);
  const current = byKey(after, fields);
  return {
    added: [...current].filter(([key]) => !old.has(key)).map(([, row]) => row),
    removed: [...old].filter(([key]) => !current.has(key)).map(([, row]) => row),
    changed: [...old].flatMap(([key, row]) => {
      const other = current.get(key);
      if (other === undefined) return [];
      const differing = fieldsThatDiffer(row, other);
      return differing.length === 0 ? [] : [{ before: row, after: other, fields: differing }];
    }),
  };
}

/** Whether a list changed. False if it was not compared. */
export const hasChanges = (changes: RowChanges | null): boolean =>
  changes !== null && changes.added.length + changes.removed.length + changes.changed.length > 0;

/** Returns the changes in words, such as `2 added, 1 removed`. */
export function inWords({ added, removed, changed }: RowChanges): string {
  const parts = [
    [added.length, 'added'],
    [removed.length, 'removed'],
    [changed.length, 'changed'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(', ');
}
