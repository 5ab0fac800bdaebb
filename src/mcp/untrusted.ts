/**
 * Values of a response that models will read. Names and texts come from publishers, token contracts and registers: they may contain
 * characters that are not displayed, but that a model reads.
 */

/** Values as `JSON.parse` returns them. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/**
 * Control characters, marks that reverse the direction of text, invisible characters, variation selectors, private use and the tag
 * characters that mirror ASCII invisibly.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Variation_Selector}\u115f\u1160\u3164\uffa0]/gu;

/** Returns a text without unseen characters; line breaks and tabs become spaces. */
export const visibleText = (text: string): string => text.replace(/[\n\r\t]+/g, ' ').replace(UNSEEN, '');

/** Returns a copy of a value in which every text, and every name of a field, has only visible characters. */
export function visible(value: Json): Json {
  if (typeof value === 'string') return visibleText(value);
  if (value === null || typeof value !== 'object') return value;
  if (isList(value)) return value.map(visible);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [visibleText(name), visible(one)]));
}

export const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

export const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
