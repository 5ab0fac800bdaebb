/** Reads JSON documents of an API: one document, an array of them, or one on each line, as downloads of several pages are stored. */
import { AssayError, messageOf } from '../base/errors.ts';
import { readWholeText } from './html.ts';
import { partName } from './open.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the elements of an array that are objects; empty for any other value. */
export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** Returns the text of a field, also of a number; empty if it has none. */
export function fieldText(object: JsonObject, ...names: readonly string[]): string {
  for (const name of names) {
    const value = object[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  }
  return '';
}

/** Returns the number of a field; null if it is not a whole number from 0. */
export function fieldCount(object: JsonObject, name: string): number | null {
  const value = object[name];
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;
}

/**
 * Reads the documents of a file.
 *
 * @throws INVALID_FILE, with file and line, if one is not JSON, or is not an object.
 */
export async function readJsonDocuments(path: string): Promise<readonly JsonObject[]> {
  const file = partName(path);
  const text = await readWholeText(path);
  const fail = (line: number, why: string, cause?: unknown): never => {
    throw new AssayError('INVALID_FILE', `${file}, line ${line}: ${why}`, { field: 'file', cause });
  };
  try {
    const whole: unknown = JSON.parse(text);
    if (isObject(whole)) return [whole];
    if (Array.isArray(whole) && whole.length > 0 && whole.every(isObject)) return whole;
  } catch {
    // Not one document: one on each line, or an error that names its line.
  }
  const documents: JsonObject[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      return fail(index + 1, `not JSON (${messageOf(error)}).`, error);
    }
    if (!isObject(value)) return fail(index + 1, 'expected a JSON object.');
    documents.push(value);
  }
  return documents;
}
