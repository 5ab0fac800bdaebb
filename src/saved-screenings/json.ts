/** Reads parts of a stored answer. An earlier version of the program may have made it, so no field is taken for granted. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns a value as an object; an empty one if it is none. */
export const objectOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

/** Returns a list of objects; null if there is no list, because its section was not asked for. */
export const rowsOf = (value: unknown): readonly JsonObject[] | null =>
  Array.isArray(value) ? value.map(objectOf) : null;

export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
