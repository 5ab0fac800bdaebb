/**
 * JSON texts of values that never change, such as the rows of a ledger. The text is made once and lives as long as
 * its value, so its limit is that of the cache that keeps the value.
 */

/** The text of each value that is kept; null until it is first needed. */
const texts = new WeakMap<object, string | null>();

/**
 * Marks a value that does not change any more: `jsonText` makes its text once. Its fields and elements may be kept too: their texts are then
 * joined. Returns the value.
 */
export function keepJson<Value extends object>(value: Value): Value {
  if (!texts.has(value)) texts.set(value, null);
  return value;
}

/** Returns the JSON text of a value, like `JSON.stringify`; undefined for undefined. */
export function jsonText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const known = texts.get(value);
  if (typeof known === 'string') return known;
  const text = known === undefined ? JSON.stringify(value) : joinedText(value);
  if (known === null) texts.set(value, text);
  return text;
}

/** Returns the text of a kept value. */
function joinedText(value: object): string {
  if (!Array.isArray(value)) return hasKept(Object.values(value)) ? objectText(value) : JSON.stringify(value);
  return hasKept(value)
    ? `[${value.map((one) => jsonText(one) ?? 'null').join(',')}]`
    : JSON.stringify(value);
}

const hasKept = (values: readonly unknown[]): boolean =>
  values.some((one) => typeof one === 'object' && one !== null && texts.has(one));

/** Returns the JSON text of an object like `JSON.stringify`, with the kept texts of its fields. */
export function objectText(fields: object): string {
  let text = '';
  for (const [name, value] of Object.entries(fields)) {
    const shown = jsonText(value);
    if (shown !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${shown}`;
  }
  return `{${text}}`;
}
