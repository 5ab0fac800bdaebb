/**
 * Splits TagPacks and actor packs into the head with its defaults and the items of the list (`tags`, `actors`) one by one, so
 * that a pack of any size is read in bounded memory. `yaml` defines the meaning of an item; the plain lines that form nearly all
 * items are parsed without it.
 * Format: https://github.com/graphsense/graphsense-tagpacks/wiki/GraphSense-TagPacks
 */
import { parse } from 'yaml';
import { AssayError } from '../../base/errors.ts';
import { SOURCE_LIMITS } from '../limits.ts';
import { TAGPACK_LIMITS } from './limits.ts';

export type PackList = 'tags' | 'actors';

/** One item of a list, as printed. */
export interface PackItem {
  readonly list: PackList;
  /** 1-based line on which it begins. */
  readonly line: number;
  readonly text: string;
  /** It was truncated because it is longer than any real item. */
  readonly cut: boolean;
}

export type YamlMap = Readonly<Record<string, unknown>>;

interface OpenItem {
  line: number;
  text: string;
  cut: boolean;
}

/**
 * Splits one pack, line by line. The caller passes chunks of text to `push`, then calls `end`; both return the completed items.
 */
export class PackSplitter {
  /** All lines outside the lists. Complete after `end`. */
  head = '';
  /** Why this pack must be parsed as a whole instead of line by line (flow style, JSON); null for the usual layout. */
  irregular: string | null = null;
  private readonly name: string;
  private rest = '';
  private line = 0;
  private list: PackList | null = null;
  /** Column of the dashes of the list; -1 before the first dash. */
  private indent = -1;
  private open: OpenItem | null = null;
  private done: PackItem[] = [];

  constructor(name: string) {
    this.name = name;
  }

  push(chunk: string): readonly PackItem[] {
    this.done = [];
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      this.take(this.rest + chunk.slice(from, end));
      this.rest = '';
      from = end + 1;
    }
    this.rest += chunk.slice(from);
    if (this.rest.length > SOURCE_LIMITS.sourceLineCharsMax) this.fail('a line is too long');
    return this.done;
  }

  end(): readonly PackItem[] {
    this.done = [];
    if (this.rest !== '') this.take(this.rest);
    this.rest = '';
    this.close();
    return this.done;
  }

  private fail(why: string): never {
    throw new AssayError('INVALID_FILE', `${this.name}: line ${this.line + 1}: ${why}.`, { field: 'file' });
  }

  private take(raw: string): void {
    this.line++;
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    if (this.list === null) this.takeHead(line);
    else this.takeListed(line);
  }

  private takeHead(line: string): void {
    const opened = /^(tags|actors):(.*)$/.exec(line);
    if (!opened) {
      if (this.head === '' && /^\s*[{[]/.test(line)) this.irregular = 'flow style';
      this.head += `${line}\n`;
      if (this.head.length > TAGPACK_LIMITS.tagPackHeaderCharsMax && this.irregular === null) {
        this.fail('the head of the pack is too long');
      }
      return;
    }
    if (/^\s*(#.*)?$/.test(opened[2] as string)) {
      this.list = opened[1] as PackList;
      this.indent = -1;
    } else {
      this.irregular = `${opened[1]} in flow style`;
    }
  }

  private takeListed(line: string): void {
    let spaces = 0;
    while (line.charCodeAt(spaces) === 0x20) spaces++;
    const mark = line[spaces];
    if (mark === undefined || (mark === '#' && this.open === null)) {
      this.append(line);
      return;
    }
    const after = line.charCodeAt(spaces + 1);
    const dash = mark === '-' && (Number.isNaN(after) || after === 0x20);
    if (dash && (this.indent === -1 || spaces === this.indent)) {
      this.close();
      this.indent = spaces;
      this.open = { line: this.line, text: line, cut: false };
      return;
    }
    if (spaces === 0 && mark !== '#') {
      this.close();
      this.list = null;
      this.takeHead(line);
      return;
    }
    this.append(line);
  }

  private append(line: string): void {
    if (this.open === null || this.open.cut) return;
    this.open.text += `\n${line}`;
    if (this.open.text.length <= TAGPACK_LIMITS.tagPackItemCharsMax) return;
    this.open.text = this.open.text.slice(0, TAGPACK_LIMITS.tagPackItemCharsMax);
    this.open.cut = true;
  }

  private close(): void {
    if (this.open !== null && this.list !== null) this.done.push({ list: this.list, ...this.open });
    this.open = null;
  }
}

/**
 * Parses YAML with every scalar as text: an address of digits or `0x…` must not become a number, nor a label `no` a boolean.
 * Throws the errors of `yaml`.
 */
export const parseYaml = (text: string): unknown =>
  parse(text, { schema: 'failsafe', logLevel: 'error', maxAliasCount: 100 });

/** Parses the head of a pack or one item. Throws an Error if it is not a map. */
export function parseMap(text: string): YamlMap {
  const value = parseYaml(text);
  if (value === null || value === '') return {};
  if (isMap(value)) return value;
  throw new Error('It is not a YAML map.');
}

/** Returns whether a YAML value is a map. */
export const isMap = (value: unknown): value is YamlMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses one item of a list, including the dash. Throws an Error if it is not a map. */
export function parseItem(text: string): YamlMap {
  return parsePlainItem(text) ?? parseItemWithYaml(text);
}

/** Parses one item of a list with `yaml`, including the dash. Throws an Error if it is not a map. */
export function parseItemWithYaml(text: string): YamlMap {
  const value = parseYaml(text);
  const only = Array.isArray(value) && value.length === 1 ? value[0] : undefined;
  if (isMap(only)) return only;
  throw new Error('The item is not a YAML map.');
}

/** Matches `key: value` of printable ASCII, with a plain scalar on one line or a quoted one without escapes as the value. */
const PLAIN_LINE = /^([a-z_]+): +(?:([A-Za-z0-9][ -~]*?)|'([ -&(-~]*)'|"([ !#-[\]-~]*)") *$/;

/** Parses an item with only plain lines; returns null if any line is not plain, so that `yaml` must parse it. */
export function parsePlainItem(text: string): YamlMap | null {
  const dash = text.indexOf('- ');
  if (dash < 0) return null;
  const column = dash + 2;
  const item: Record<string, string> = {};
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const end = newline < 0 ? text.length : newline;
    // Every further line must begin in the column of the first key.
    for (let at = from; from > 0 && at < from + column; at++) if (text.charCodeAt(at) !== 0x20) return null;
    const found = PLAIN_LINE.exec(text.slice(from + column, end));
    if (found === null) return null;
    const key = found[1] as string;
    const plain = found[2];
    if (plain !== undefined && (plain.includes(': ') || plain.endsWith(':') || plain.includes(' #')))
      return null;
    // A duplicate key is an error, which `yaml` reports.
    if (key in item) return null;
    item[key] = plain ?? found[3] ?? found[4] ?? '';
    from = end + 1;
  }
  return item;
}
