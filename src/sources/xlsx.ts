/**
 * Reads the rows of the first sheet of an Office Open XML workbook (ECMA-376, `.xlsx`): texts as they are, numbers as the file
 * writes them. Formulas are not computed: their stored result is read.
 */
import { unknownLayout } from './layout-error.ts';
import { SOURCE_LIMITS } from './limits.ts';
import { listParts, partName, readTextHead, type SourcePart } from './open.ts';
import { childOf, readXml, textOf, type XmlElement } from './xml.ts';

export interface SheetRow {
  /** 1-based number of the row in the sheet. */
  readonly line: number;
  /** Cells by position; an absent cell is an empty text. */
  readonly cells: readonly string[];
}

/** Returns all texts of an element in order, without the readings of Japanese texts (`rPh`). */
function textsOf(element: XmlElement | undefined): string {
  let text = '';
  for (const child of element?.children ?? []) {
    if (child.name === 't') text += child.text;
    else if (child.name === 'r') text += textOf(child, 't');
  }
  return text;
}

/** Returns the position of a cell reference (`C7` is 2); -1 if it is not one. */
function columnOf(reference: string): number {
  const letters = /^[A-Z]{1,3}(?=\d+$)/.exec(reference)?.[0];
  if (letters === undefined) return -1;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** Finds the part with the first sheet, in the order of the workbook. */
async function firstSheet(parts: readonly SourcePart[], file: string): Promise<SourcePart> {
  const workbook = parts.find(({ entry }) => entry === 'xl/workbook.xml');
  const relations = parts.find(({ entry }) => entry === 'xl/_rels/workbook.xml.rels');
  if (workbook === undefined) throw unknownLayout(file, '', 'an XLSX workbook');
  let id: string | undefined;
  for await (const { name, attributes } of readXml(workbook, {
    roots: ['workbook'],
    elements: new Set(['sheet']),
  }))
    if (name === 'sheet') id ??= attributes['r:id'];
  let target: string | undefined;
  if (relations !== undefined)
    for await (const { attributes } of readXml(relations, {
      roots: ['Relationships'],
      elements: new Set(['Relationship']),
    }))
      if (id !== undefined && attributes.Id === id) target = attributes.Target;
  const entry = target?.startsWith('/') ? target.slice(1) : `xl/${target ?? 'worksheets/sheet1.xml'}`;
  const sheet = parts.find((part) => part.entry === entry);
  if (sheet === undefined) throw unknownLayout(file, '', 'an XLSX workbook with a sheet');
  return sheet;
}

/** Reads the texts that cells refer to by number. Throws INVALID_FILE. */
async function sharedTexts(parts: readonly SourcePart[], file: string): Promise<readonly string[]> {
  const part = parts.find(({ entry }) => entry === 'xl/sharedStrings.xml');
  const texts: string[] = [];
  if (part === undefined) return texts;
  for await (const element of readXml(part, { roots: ['sst'], elements: new Set(['si']), spaces: 'keep' })) {
    if (element.name === 'si') texts.push(textsOf(element));
    if (texts.length > SOURCE_LIMITS.sheetTextsMax)
      throw unknownLayout(file, '', `a workbook of at most ${SOURCE_LIMITS.sheetTextsMax} texts`);
  }
  return texts;
}

function cellText(cell: XmlElement, texts: readonly string[]): string {
  const type = cell.attributes.t;
  if (type === 'inlineStr') return textsOf(childOf(cell, 'is'));
  const value = textOf(cell, 'v');
  // An error (#N/A) is no value.
  if (type === 'e') return '';
  return type === 's' ? (texts[Number(value)] ?? '') : value;
}

/**
 * Streams the rows of the first sheet that have a cell.
 *
 * @throws INVALID_FILE if the file is not a workbook, is damaged, or exceeds the limits of `SOURCE_LIMITS`.
 */
export async function* readSheet(path: string): AsyncGenerator<SheetRow, void, undefined> {
  const file = partName(path);
  const parts = await listParts(path);
  if (parts.length < 2)
    throw unknownLayout(file, await readTextHead(path, 500, { lenient: true }), 'an XLSX workbook');
  const texts = await sharedTexts(parts, file);
  let last = 0;
  for await (const element of readXml(await firstSheet(parts, file), {
    roots: ['worksheet'],
    elements: new Set(['row']),
    spaces: 'keep',
  })) {
    if (element.name !== 'row') continue;
    const line = Number(element.attributes.r ?? last + 1);
    last = Number.isInteger(line) ? line : last + 1;
    const cells: string[] = [];
    for (const cell of element.children) {
      if (cell.name !== 'c') continue;
      const at = cell.attributes.r === undefined ? cells.length : columnOf(cell.attributes.r);
      if (at < 0 || at >= SOURCE_LIMITS.sheetColumnsMax) continue;
      while (cells.length < at) cells.push('');
      cells[at] = cellText(cell, texts);
    }
    if (cells.some((text) => text.trim() !== '')) yield { line: last, cells };
  }
}

/** Days from 1899-12-30, the day 0 of the dates of a sheet, to 1970-01-01. */
const DAYS_TO_EPOCH = 25_569;

/** Returns the ISO date of a serial number of a sheet (45000 is 2023-03-15); null if it is not one of the years 1950 to 2099. */
export function serialDate(text: string): string | null {
  if (!/^\d{5}(?:\.\d+)?$/.test(text.trim())) return null;
  const days = Math.floor(Number(text));
  if (days < 18_264 || days > 73_050) return null;
  return new Date((days - DAYS_TO_EPOCH) * 86_400_000).toISOString().slice(0, 10);
}
