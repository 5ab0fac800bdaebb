/** `.assay.json`: what is saved is what is opened, and a hostile file is refused with the field. */
import { describe, expect, it } from 'vitest';
import { readFile, writeFile } from '../src/pages/trace/file.ts';
import { hashPlaces } from '../src/pages/trace/layout.ts';
import { annotate, edgeId, emptyPicture, grow, type Picture } from '../src/pages/trace/picture.ts';

function pictureOf(count: number): Picture {
  const ids = Array.from({ length: count }, (_, at) => `a${at}`);
  return grow(emptyPicture('ETH', 'start'), {
    nodes: ['start', ...ids].map((id) => ({
      id,
      name: id === 'a0' ? '<img src=x> \u202Eevil' : null,
      category: 'UNKNOWN',
      threatLevel: null,
      sanctioned: false,
      stop: null,
    })),
    edges: ids.map((to, at) => ({
      id: edgeId('start', to, 'ETH'),
      from: 'start',
      to,
      asset: 'ETH',
      value: '1.5',
      usd: at % 2 === 0 ? at : null,
      transfers: 2,
      firstSeen: '2026-01-01T00:00:00Z',
      lastSeen: '2026-01-02T00:00:00.000Z',
    })),
    onPath: ['a30'],
    dataVersion: 'v1',
    tracedAt: '2026-11-23T10:00:00Z',
    expanded: 'start',
  });
}

const picture = annotate(annotate(pictureOf(40), 'a1', 'a note'), edgeId('start', 'a2', 'ETH'), 'of an edge');
const text = writeFile(picture, '2026-11-23T10:00:00Z');

it('opens what was saved: addresses, edges, notes, and the same places', () => {
  const read = readFile(text);
  if (!('picture' in read)) throw new Error(JSON.stringify(read.problem));
  expect(read.picture.nodes).toEqual(picture.nodes);
  expect(read.picture.edges).toEqual(picture.edges);
  expect(read.picture.notes).toEqual(picture.notes);
  expect(read.picture.shown).toEqual(picture.shown);
  expect(read.picture.onPath).toEqual(picture.onPath);
  expect(read.picture.expanded).toEqual(picture.expanded);
  expect(read.picture.collapsed).toEqual(picture.collapsed);
  const drawn = new Map([...read.picture.places].filter(([id]) => picture.nodes.has(id)));
  expect(hashPlaces(drawn)).toBe(
    hashPlaces(new Map([...picture.places].filter(([id]) => picture.nodes.has(id)))),
  );
});

interface File {
  [field: string]: unknown;
  nodes: Record<string, unknown>[];
  edges: Record<string, unknown>[];
}

describe('a file is refused', () => {
  const changed = (change: (file: File) => void): string => {
    const file = JSON.parse(text) as File;
    change(file);
    return JSON.stringify(file);
  };
  const nodeAt = (at: number, fields: object) => (file: File) =>
    void Object.assign(file.nodes[at] ?? {}, fields);
  const edgeAt = (at: number, fields: object) => (file: File) =>
    void Object.assign(file.edges[at] ?? {}, fields);

  it.each<readonly [string, string, string, (file: File) => void]>([
    ['another format', 'format', 'format', (file) => void Object.assign(file, { format: 'other' })],
    ['another version', 'version', 'version', (file) => void Object.assign(file, { version: 2 })],
    ['an address with a blank', 'field', 'nodes[1].address', nodeAt(1, { address: 'a b' })],
    ['an address that turns text around', 'field', 'nodes[1].address', nodeAt(1, { address: 'a\u202Eb' })],
    ['an address of 10 kB', 'field', 'nodes[1].address', nodeAt(1, { address: 'a'.repeat(10_000) })],
    ['a name of 10 kB', 'field', 'nodes[1].name', nodeAt(1, { name: 'a'.repeat(10_000) })],
    ['a name that is an object', 'field', 'nodes[1].name', nodeAt(1, { name: { toString: 1 } })],
    ['a category with markup', 'field', 'nodes[1].category', nodeAt(1, { category: '<b>' })],
    ['the same address twice', 'twice', 'nodes[2].address', nodeAt(2, { address: 'a0' })],
    ['two addresses in one place', 'twice', 'nodes[2].row', nodeAt(2, { column: 0, row: 0 })],
    ['a row that is infinite', 'field', 'nodes[2].row', nodeAt(2, { column: 1, row: 1e300 })],
    ['a column that is a text', 'field', 'nodes[2].column', nodeAt(2, { column: '1', row: 3 })],
    ['a note of 10 kB', 'field', 'nodes[1].note', nodeAt(1, { note: 'a'.repeat(10_000) })],
    ['an edge to an unknown address', 'unknown', 'edges[0].to', edgeAt(0, { to: 'nobody' })],
    ['an edge of a negative value', 'field', 'edges[0].usd', edgeAt(0, { usd: -1 })],
    ['an edge of an amount that is no number', 'field', 'edges[0].value', edgeAt(0, { value: '=1+1' })],
    ['an edge of no time', 'field', 'edges[0].firstSeen', edgeAt(0, { firstSeen: 'yesterday' })],
    ['the same edge twice', 'twice', 'edges[1]', edgeAt(1, { to: 'a0' })],
    [
      'a start that is not listed',
      'unknown',
      'start',
      (file) => void Object.assign(file, { start: 'nobody' }),
    ],
    ['nodes that are no list', 'field', 'nodes', (file) => void Object.assign(file, { nodes: {} })],
    [
      'a list without an end',
      'many',
      'nodes',
      (file) => void Object.assign(file, { nodes: Array(20_001).fill({}) }),
    ],
  ])('with %s', (_, code, field, change) => {
    expect(readFile(changed(change))).toEqual({ problem: { code, field } });
  });

  it.each([
    ['{', 'json'],
    ['null', 'field'],
    ['[]', 'field'],
    [`"${'x'.repeat(40_000_001)}"`, 'size'],
  ])('if it is no picture', (bad, code) => {
    expect(readFile(bad)).toMatchObject({ problem: { code } });
  });

  it('and its fields never reach the prototype of a picture', () => {
    const read = readFile(
      changed((file) => void Object.assign(file, JSON.parse('{"__proto__": {"polluted": true}}'))),
    );
    expect('picture' in read).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
