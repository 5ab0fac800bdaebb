/**
 * Reads the tables and links of a web page, for registers that are published as a page only. It is a tolerant tokenizer, not a
 * browser: elements that are not closed are closed by the next cell, row or table, scripts and comments are skipped. Its time is
 * linear in the length of the page.
 */

import { layoutError } from './layout-error.ts';
import { SOURCE_LIMITS } from './limits.ts';
import { openText, partName } from './open.ts';

export interface HtmlCell {
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Addresses of the links in the cell. */
  readonly links: readonly string[];
}

export interface HtmlRow {
  /** 1-based line of the page. */
  readonly line: number;
  readonly cells: readonly HtmlCell[];
}

export interface HtmlTable {
  readonly attributes: Readonly<Record<string, string>>;
  /** Texts and the ids and classes of the elements between the previous table and this one, the last 4,000 characters. */
  readonly before: string;
  readonly rows: readonly HtmlRow[];
}

export interface HtmlPage {
  readonly tables: readonly HtmlTable[];
  readonly links: readonly { readonly href: string; readonly text: string; readonly line: number }[];
  /** Attributes of all elements with a name that begins with `data-`. */
  readonly data: ReadonlyMap<string, string>;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  eacute: 'é',
  egrave: 'è',
  uuml: 'ü',
  ouml: 'ö',
  auml: 'ä',
};

/** Replaces character references. Unknown ones stay as they are. */
export function decodeHtml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[(name as string).toLowerCase()] ?? whole;
    const code = Number.parseInt(decimal ?? hex, decimal === undefined ? 16 : 10);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      ? String.fromCodePoint(code)
      : whole;
  });
}

const clean = (text: string): string =>
  decodeHtml(text)
    .replace(/[\u00a0\s]+/g, ' ')
    .trim();

function attributesOf(tag: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name, double, single, bare] of tag.matchAll(
    /([a-z][a-z0-9:-]{0,63})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi,
  ))
    if (name !== undefined) found[name.toLowerCase()] ??= decodeHtml(double ?? single ?? bare ?? '');
  return found;
}

/** Elements with contents that are not text of the page. */
const SKIPPED: ReadonlySet<string> = new Set(['script', 'style', 'noscript', 'template']);
/** Elements that begin a new word or line. */
const INLINE: ReadonlySet<string> = new Set([
  'a',
  'b',
  'i',
  'em',
  'strong',
  'span',
  'sup',
  'sub',
  'font',
  'u',
]);

const BEFORE_CHARS = 4_000;

interface OpenTable {
  readonly attributes: Record<string, string>;
  readonly before: string;
  readonly rows: { line: number; cells: HtmlCell[] }[];
  cell: { text: string; attributes: Record<string, string>; links: string[] } | null;
}

/** The state of reading one page. */
class PageReader {
  readonly tables: HtmlTable[] = [];
  readonly links: { href: string; text: string; line: number }[] = [];
  readonly data = new Map<string, string>();
  private readonly open: OpenTable[] = [];
  private before = '';
  private link: { href: string; text: string; line: number } | null = null;

  text(raw: string): void {
    const table = this.open.at(-1);
    if (table?.cell) table.cell.text += raw;
    else if (table === undefined) this.remember(raw);
    if (this.link !== null) this.link.text += raw;
  }

  tag(name: string, closes: boolean, source: string, line: number): void {
    if (!INLINE.has(name)) this.text(' ');
    if (name === 'table') {
      if (closes) this.closeTable();
      else {
        this.open.push({ attributes: attributesOf(source), before: this.before, rows: [], cell: null });
        this.before = '';
      }
      return;
    }
    const table = this.open.at(-1);
    if (name === 'a') {
      this.closeLink();
      if (closes) return;
      const { href = '' } = attributesOf(source);
      this.link = { href, text: '', line };
      table?.cell?.links.push(href);
      return;
    }
    if (table !== undefined && (name === 'tr' || name === 'td' || name === 'th')) {
      this.closeCell(table);
      if (closes) return;
      if (name === 'tr') table.rows.push({ line, cells: [] });
      else {
        if (table.rows.length === 0) table.rows.push({ line, cells: [] });
        table.cell = { text: '', attributes: attributesOf(source), links: [] };
      }
      return;
    }
    if (closes) return;
    const attributes = attributesOf(source);
    for (const [key, value] of Object.entries(attributes))
      if (key.startsWith('data-') && !this.data.has(key)) this.data.set(key, value);
    if (table === undefined) this.remember(` ${attributes.id ?? ''} ${attributes.class ?? ''} `);
  }

  end(): HtmlPage {
    while (this.open.length > 0) this.closeTable();
    this.closeLink();
    return { tables: this.tables, links: this.links, data: this.data };
  }

  private remember(text: string): void {
    const whole = this.before + text;
    // Cut rarely, so that a long page without tables costs linear time.
    this.before = whole.length > 2 * BEFORE_CHARS ? whole.slice(-BEFORE_CHARS) : whole;
  }

  private closeLink(): void {
    if (this.link !== null) this.links.push({ ...this.link, text: clean(this.link.text) });
    this.link = null;
  }

  private closeCell(table: OpenTable): void {
    if (table.cell === null) return;
    const { text, attributes, links } = table.cell;
    table.cell = null;
    table.rows.at(-1)?.cells.push({ text: clean(text), attributes, links });
  }

  private closeTable(): void {
    const table = this.open.pop();
    if (table === undefined) return;
    this.closeCell(table);
    this.tables.push({
      attributes: table.attributes,
      before: clean(table.before.slice(-BEFORE_CHARS)),
      rows: table.rows.filter(({ cells }) => cells.length > 0),
    });
  }
}

/** Reads the tables and links of a page. */
export function parseHtml(page: string): HtmlPage {
  const reader = new PageReader();
  let line = 1;
  let newline = page.indexOf('\n');
  const lineAt = (position: number): number => {
    while (newline >= 0 && newline < position) {
      line++;
      newline = page.indexOf('\n', newline + 1);
    }
    return line;
  };
  for (let at = 0; at < page.length; ) {
    const open = page.indexOf('<', at);
    if (open < 0) {
      reader.text(page.slice(at));
      break;
    }
    if (open > at) reader.text(page.slice(at, open));
    if (page.startsWith('<!--', open)) {
      const end = page.indexOf('-->', open + 4);
      at = end < 0 ? page.length : end + 3;
      continue;
    }
    const [, slash, tag = ''] = /^<(\/?)([a-z][a-z0-9]{0,20})/i.exec(page.slice(open, open + 24)) ?? [];
    const name = tag.toLowerCase();
    if (name === '') {
      reader.text('<');
      at = open + 1;
      continue;
    }
    const end = page.indexOf('>', open);
    if (end < 0) break;
    reader.tag(name, slash === '/', page.slice(open, end), lineAt(open));
    at = end + 1;
    if (slash === '' && SKIPPED.has(name)) {
      const close = new RegExp(`</${name}`, 'gi');
      close.lastIndex = at;
      at = close.exec(page)?.index ?? page.length;
    }
  }
  return reader.end();
}

/**
 * Reads a saved page.
 *
 * @throws INVALID_FILE if the file is not text or is larger than `SOURCE_LIMITS.registerFileBytesMax`.
 */
export async function readHtml(path: string): Promise<HtmlPage> {
  return parseHtml(await readWholeText(path));
}

/** Reads a file of a register as one text. Throws INVALID_FILE. */
export async function readWholeText(path: string): Promise<string> {
  const chunks: string[] = [];
  let chars = 0;
  for await (const chunk of openText(path, { legacyEncoding: 'windows-1252', lenient: true })) {
    chars += chunk.length;
    if (chars > SOURCE_LIMITS.registerFileBytesMax)
      throw layoutError(
        partName(path),
        `is larger than ${SOURCE_LIMITS.registerFileBytesMax.toLocaleString('en')} characters.`,
      );
    chunks.push(chunk);
  }
  return chunks.join('');
}
