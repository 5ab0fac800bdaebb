/**
 * `.assay.json`: a picture as a file, and back. A file may come from anybody, so every field is checked, everything is bounded, and the first
 * problem refuses the whole file.
 */
import { edgeId, type Picture, restore, type TraceEdge, type TraceNode } from './picture.ts';

/** Bytes of a file: twice what a picture of the maximum size has. */
export const FILE_BYTES_MAX = 40_000_000;
/** Four traces of the maximum size (5,000 addresses). */
const NODES_MAX = 20_000;
/** Four traces of the maximum size (20,000 edges). */
const EDGES_MAX = 80_000;
/** The longest address has 150 characters. */
const ADDRESS_MAX = 200;
/** Longer names are cut when they are saved. */
const NAME_MAX = 500;
/** Categories, levels, reasons and chains are short codes. */
const CODE = /^[A-Za-z0-9_-]{1,60}$/;
export const NOTE_MAX = 1_000;
/** Rows and columns; a picture of the maximum size has fewer rows. */
const PLACE_MAX = 100_000;
const DECIMAL = /^-?\d{1,90}(?:\.\d{1,90})?$/;
const TIME = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]{1,15}Z)?$/;
const VERSIONS_MAX = 100;

const FORMAT = 'assay-trace';
const VERSION = 1;

/** Why a file is refused: a key of the texts, and the field. */
export interface FileProblem {
  readonly code: 'size' | 'json' | 'format' | 'version' | 'field' | 'many' | 'twice' | 'unknown';
  readonly field: string;
}

class Refusal extends Error {
  readonly problem: FileProblem;
  constructor(code: FileProblem['code'], field: string) {
    super(`${code} ${field}`);
    this.problem = { code, field };
  }
}

/** Returns the file of a picture. */
export function writeFile(picture: Picture, savedAt: string): string {
  const { chain, start, dataVersions, tracedAt, notes, shown, places, onPath, expanded, collapsed } = picture;
  const nodes = [...picture.nodes.values()].map(({ id, name, ...node }) => {
    const place = places.get(id);
    return {
      address: id,
      name: name?.slice(0, NAME_MAX) ?? null,
      ...node,
      shown: shown.has(id),
      expanded: expanded.has(id),
      ...(collapsed.has(id) ? { collapsed: true } : {}),
      onPath: onPath.has(id),
      ...(place === undefined ? {} : place),
      ...(notes.has(id) ? { note: notes.get(id) } : {}),
    };
  });
  const edges = [...picture.edges.values()].map(({ id, ...edge }) => ({
    ...edge,
    ...(notes.has(id) ? { note: notes.get(id) } : {}),
  }));
  const file = {
    format: FORMAT,
    version: VERSION,
    savedAt,
    chain,
    start,
    dataVersions,
    tracedAt,
    nodes,
    edges,
  };
  return `${JSON.stringify(file, null, 1)}\n`;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown, field: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refusal('field', field);
  return value as Fields;
}

function textOf(value: unknown, field: string, max: number, form?: RegExp): string {
  if (typeof value !== 'string' || value.length > max || form?.test(value) === false)
    throw new Refusal('field', field);
  return value;
}

const addressOf = (value: unknown, field: string): string =>
  textOf(value, field, ADDRESS_MAX, /^[^\s\p{C}]+$/u);
const orNull = <T>(value: unknown, read: () => T): T | null =>
  value === null || value === undefined ? null : read();

function numberOf(value: unknown, field: string, min: number, max: number): number {
  if (typeof value !== 'number' || !(value >= min && value <= max)) throw new Refusal('field', field);
  return value;
}

function wholeOf(value: unknown, field: string, min: number, max: number): number {
  if (!Number.isInteger(value)) throw new Refusal('field', field);
  return numberOf(value, field, min, max);
}

function flagOf(value: unknown, field: string): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw new Refusal('field', field);
  return value;
}

function listOf(value: unknown, field: string, max: number): readonly unknown[] {
  if (!Array.isArray(value)) throw new Refusal('field', field);
  if (value.length > max) throw new Refusal('many', field);
  return value;
}

function nodeOf(row: Fields, at: string): TraceNode {
  return {
    id: addressOf(row.address, `${at}.address`),
    name: orNull(row.name, () => textOf(row.name, `${at}.name`, NAME_MAX)),
    category: textOf(row.category, `${at}.category`, 60, CODE),
    threatLevel: orNull(row.threatLevel, () => textOf(row.threatLevel, `${at}.threatLevel`, 60, CODE)),
    sanctioned: flagOf(row.sanctioned, `${at}.sanctioned`),
    stop: orNull(row.stop, () => textOf(row.stop, `${at}.stop`, 60, CODE)),
  };
}

function edgeOf(row: Fields, at: string): TraceEdge {
  const from = addressOf(row.from, `${at}.from`);
  const to = addressOf(row.to, `${at}.to`);
  const asset = textOf(row.asset, `${at}.asset`, ADDRESS_MAX);
  return {
    id: edgeId(from, to, asset),
    from,
    to,
    asset,
    value: textOf(row.value, `${at}.value`, 200, DECIMAL),
    usd: orNull(row.usd, () => numberOf(row.usd, `${at}.usd`, 0, Number.MAX_SAFE_INTEGER)),
    transfers: wholeOf(row.transfers, `${at}.transfers`, 0, Number.MAX_SAFE_INTEGER),
    firstSeen: textOf(row.firstSeen, `${at}.firstSeen`, 30, TIME),
    lastSeen: textOf(row.lastSeen, `${at}.lastSeen`, 30, TIME),
  };
}

function pictureOf(file: Fields): Picture {
  if (file.format !== FORMAT) throw new Refusal('format', 'format');
  if (file.version !== VERSION) throw new Refusal('version', 'version');
  const nodes = new Map<string, TraceNode>();
  const edges = new Map<string, TraceEdge>();
  const places = new Map<string, { column: number; row: number }>();
  const taken = new Set<string>();
  const notes = new Map<string, string>();
  const sets = {
    shown: new Set<string>(),
    expanded: new Set<string>(),
    onPath: new Set<string>(),
    collapsed: new Set<string>(),
  };
  const noteOf = (id: string, row: Fields, at: string): void => {
    if (row.note !== undefined) notes.set(id, textOf(row.note, `${at}.note`, NOTE_MAX));
  };
  for (const [index, value] of listOf(file.nodes, 'nodes', NODES_MAX).entries()) {
    const at = `nodes[${index}]`;
    const row = fieldsOf(value, at);
    const node = nodeOf(row, at);
    if (nodes.has(node.id)) throw new Refusal('twice', `${at}.address`);
    nodes.set(node.id, node);
    for (const name of ['shown', 'expanded', 'onPath', 'collapsed'] as const)
      if (flagOf(row[name], `${at}.${name}`)) sets[name].add(node.id);
    if (row.row !== undefined) {
      const place = {
        column: wholeOf(row.column, `${at}.column`, -PLACE_MAX, PLACE_MAX),
        row: wholeOf(row.row, `${at}.row`, -PLACE_MAX, PLACE_MAX),
      };
      const spot = `${place.column} ${place.row}`;
      if (taken.has(spot)) throw new Refusal('twice', `${at}.row`);
      taken.add(spot);
      places.set(node.id, place);
    }
    noteOf(node.id, row, at);
  }
  const start = addressOf(file.start, 'start');
  if (!nodes.has(start)) throw new Refusal('unknown', 'start');
  for (const [index, value] of listOf(file.edges, 'edges', EDGES_MAX).entries()) {
    const at = `edges[${index}]`;
    const row = fieldsOf(value, at);
    const edge = edgeOf(row, at);
    if (!nodes.has(edge.from)) throw new Refusal('unknown', `${at}.from`);
    if (!nodes.has(edge.to)) throw new Refusal('unknown', `${at}.to`);
    if (edges.has(edge.id)) throw new Refusal('twice', at);
    edges.set(edge.id, edge);
    noteOf(edge.id, row, at);
  }
  sets.shown.add(start);
  return restore({
    chain: textOf(file.chain, 'chain', 60, CODE),
    start,
    nodes,
    edges,
    places,
    notes,
    ...sets,
    dataVersions: listOf(file.dataVersions, 'dataVersions', VERSIONS_MAX).map((version, at) =>
      textOf(version, `dataVersions[${at}]`, 200),
    ),
    tracedAt: file.tracedAt === '' ? '' : textOf(file.tracedAt, 'tracedAt', 30, TIME),
  });
}

/** Reads a file. */
export function readFile(text: string): { readonly picture: Picture } | { readonly problem: FileProblem } {
  if (text.length > FILE_BYTES_MAX) return { problem: { code: 'size', field: '' } };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: { code: 'json', field: '' } };
  }
  try {
    return { picture: pictureOf(fieldsOf(value, 'format')) };
  } catch (error) {
    if (error instanceof Refusal) return { problem: error.problem };
    throw error;
  }
}
