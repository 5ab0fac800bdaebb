/** Layout of the packed body of a template, which `template-table.ts` writes and `template-decoder.ts` reads. */

/**
 * Body of a template, in words: values from small sets as numbers, values that many templates share (source URL, tags, sanctions,
 * jurisdiction) as the number of a shared value, and the confidence as eight bytes. Id, name and URL of the entity follow in UTF-8.
 */
export const ENTITY_CATEGORY = 0;
export const CATEGORY = 1;
export const THREAT_LEVEL = 2;
export const SOURCE = 3;
export const BITS = 4;
export const JURISDICTION = 5;
export const SOURCE_URL = 6;
export const TAGS = 7;
export const SANCTIONS = 8;
export const ID_BYTES = 9;
export const NAME_BYTES = 10;
export const URL_BYTES = 11;
export const CONFIDENCE = 12;
export const BODY_WORDS = 14;

export const VERIFIED = 1;
/** All strings of the entity are ASCII: one byte per character, which decodes faster. */
export const ASCII = 2;
/**
 * First bit of the number of the evidence class plus one. Snapshots of releases before 2026-11-22 have 0 here: the class is then
 * that of the source.
 */
export const CLASS_SHIFT = 2;
export const CLASS_MASK = 7;
export const NULL_TEXT = -1;
