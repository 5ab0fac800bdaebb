/** The picture of a trace: columns, counting nodes, expansion, filters, undo. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { CATEGORY_CODES, categoryCode } from '../src/pages/trace/codes.ts';
import { firstStep, nextStep, redoStep, undoStep } from '../src/pages/trace/history.ts';
import {
  annotate,
  canCollapse,
  collapse,
  edgeId,
  emptyPicture,
  grow,
  open,
  type Picture,
  reveal,
  SHOWN_EACH_SIDE,
  type TraceEdge,
  type TraceNode,
} from '../src/pages/trace/picture.ts';
import { svgOf } from '../src/pages/trace/svg.ts';
import { groupsOf, isGroup, NO_FILTER, viewOf } from '../src/pages/trace/view.ts';

const node = (id: string, more: Partial<TraceNode> = {}): TraceNode => ({
  id,
  name: null,
  category: 'UNKNOWN',
  threatLevel: null,
  sanctioned: false,
  stop: 'DEPTH',
  ...more,
});
const edge = (
  from: string,
  to: string,
  usd: number | null = 100,
  more: Partial<TraceEdge> = {},
): TraceEdge => ({
  id: edgeId(from, to, 'ETH'),
  from,
  to,
  asset: 'ETH',
  value: '1',
  usd,
  transfers: 1,
  firstSeen: '2026-01-01T00:00:00Z',
  lastSeen: '2026-02-01T00:00:00Z',
  ...more,
});

const START = 'start';
function add(
  picture: Picture,
  edges: readonly TraceEdge[],
  {
    nodes = [],
    onPath = [],
    at = START,
  }: { nodes?: readonly TraceNode[]; onPath?: readonly string[]; at?: string } = {},
): Picture {
  const named = new Map(nodes.map((each) => [each.id, each]));
  const ids = new Set(edges.flatMap(({ from, to }) => [from, to]));
  return grow(picture, {
    nodes: [...ids].map((id) => named.get(id) ?? node(id, id === at ? { stop: null } : {})),
    edges,
    onPath,
    dataVersion: 'v1',
    tracedAt: '2026-11-23T00:00:00Z',
    expanded: at,
  });
}
const first = (edges: readonly TraceEdge[], more = {}): Picture =>
  add(emptyPicture('ETH', START), edges, more);
const columnOf = (picture: Picture, id: string): number | undefined => picture.branches.get(id)?.column;
/** Twenty payees, the later the smaller. */
const manyEdges = Array.from({ length: 40 }, (_, at) => edge(START, `p${at}`, 1_000 - at));

describe('the columns of a trace', () => {
  it('count hops to the left for origins and to the right for destinations', () => {
    const picture = first([edge('a', START), edge('b', 'a'), edge(START, 'c'), edge('c', 'd')]);
    expect(['b', 'a', START, 'c', 'd'].map((id) => columnOf(picture, id))).toEqual([-2, -1, 0, 1, 2]);
  });

  it('put an address that traded both ways on the side of the greater value', () => {
    const picture = first([
      edge('x', START, 5),
      edge(START, 'x', 50),
      edge('y', START, 50),
      edge(START, 'y', 5),
    ]);
    expect([columnOf(picture, 'x'), columnOf(picture, 'y')]).toEqual([1, -1]);
  });
});

describe('counting nodes', () => {
  const picture = first(manyEdges);
  const group = [...groupsOf(picture).values()][0];

  it('stand for the counterparties beyond the limit, the smallest ones', () => {
    expect(picture.shown.size).toBe(1 + SHOWN_EACH_SIDE);
    expect(group?.members).toHaveLength(40 - SHOWN_EACH_SIDE);
    expect(picture.shown.has('p0')).toBe(true);
    expect(picture.shown.has('p39')).toBe(false);
    const { nodes, edges } = viewOf(picture);
    expect(nodes).toHaveLength(2 + SHOWN_EACH_SIDE);
    const counted = edges.find(({ to }) => isGroup(to));
    expect(counted?.edges).toHaveLength(28);
    expect(counted?.usd).toBe(manyEdges.slice(12).reduce((sum, { usd }) => sum + (usd ?? 0), 0));
  });

  it('never hide a sanctioned address, one of a path, or one address alone', () => {
    const dangerous = first(manyEdges, {
      nodes: [node('p39', { sanctioned: true })],
      onPath: [START, 'p38'],
    });
    expect(dangerous.shown.has('p39')).toBe(true);
    expect(dangerous.shown.has('p38')).toBe(true);
    expect(groupsOf(first(manyEdges.slice(0, SHOWN_EACH_SIDE + 1))).size).toBe(0);
  });

  it('give addresses out without moving any, until none is left', () => {
    const before = viewOf(picture).nodes.map(({ id }) => [id, picture.places.get(id)] as const);
    const more = reveal(picture, group?.id ?? '', 25);
    expect(more.shown.size).toBe(1 + SHOWN_EACH_SIDE + 25);
    for (const [id, place] of before) expect(more.places.get(id)).toEqual(place);
    const all = reveal(more, group?.id ?? '', 25);
    expect(all.shown.size).toBe(41);
    expect(groupsOf(all).size).toBe(0);
    for (const [id, place] of before) if (!isGroup(id)) expect(all.places.get(id)).toEqual(place);
  });

  it('count what hangs behind a hidden address', () => {
    const deep = add(picture, [edge('p39', 'behind')], { at: 'p39' });
    expect([...groupsOf(deep).values()][0]?.members).toContain('behind');
  });
});

describe('a collapsed address', () => {
  const grown = add(
    first([edge(START, 'a'), edge(START, 'b'), edge('a', 'c'), edge('c', 'd'), edge('a', 'bad')], {
      nodes: [node('bad', { sanctioned: true })],
    }),
    [edge('b', 'e')],
    { at: 'b' },
  );
  const folded = collapse(grown, 'a');

  it('hides what is behind it, except sanctioned addresses, and moves nothing', () => {
    expect([...folded.shown].sort()).toEqual(['a', 'b', 'bad', 'e', START]);
    expect(
      [...groupsOf(folded).values()].map(({ parent, members }) => [parent, [...members].sort()]),
    ).toEqual([['a', ['c', 'd']]]);
    for (const { id } of viewOf(folded).nodes)
      if (!isGroup(id)) expect([id, folded.places.get(id)]).toEqual([id, grown.places.get(id)]);
    expect([canCollapse(folded, 'a'), canCollapse(folded, 'e'), canCollapse(folded, START)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('stays collapsed while the picture grows elsewhere, and opens with the same places', () => {
    const more = add(folded, [edge('b', 'f')], { at: 'b' });
    expect(more.shown.has('c')).toBe(false);
    const opened = open(more, 'a');
    for (const id of grown.shown) expect([id, opened.places.get(id)]).toEqual([id, grown.places.get(id)]);
    const spots = [...opened.places.values()].map(({ column, row }) => `${column} ${row}`);
    expect(new Set(spots).size).toBe(spots.length);
    // Nothing that the person had not drawn appears.
    expect([...open(folded, 'a').shown].sort()).toEqual([...grown.shown].sort());
  });

  it('opens if a member of its counting node is drawn', () => {
    const [group] = groupsOf(folded).keys();
    expect(reveal(folded, group ?? '', 1).collapsed.size).toBe(0);
  });
});

describe('a trace that grows', () => {
  it('moves nothing, and goes on where it ended', () => {
    const picture = first([edge(START, 'a'), edge(START, 'b'), edge('c', START)]);
    expect(picture.nodes.get('a')?.stop).toBe('DEPTH');
    const grown = add(picture, [edge('a', 'd'), edge('a', 'e'), edge(START, 'a')], { at: 'a' });
    for (const [id, place] of picture.places) expect(grown.places.get(id)).toEqual(place);
    expect(columnOf(grown, 'd')).toBe(2);
    expect(grown.nodes.get('a')?.stop).toBeNull();
    // The start is the last hop of the second answer, and no end of the trace.
    expect(grown.nodes.get(START)?.stop).toBeNull();
    expect(grown.nodes.get('b')?.stop).toBe('DEPTH');
  });

  it('keeps the reason if it ended at a service', () => {
    const picture = first([edge(START, 's')], { nodes: [node('s', { stop: 'SERVICE' })] });
    const grown = add(picture, [edge('t', 's')], { at: 't' });
    expect(grown.nodes.get('s')?.stop).toBe('SERVICE');
  });
});

describe('the filter', () => {
  const picture = first([
    edge(START, 'small', 5),
    edge(START, 'large', 500),
    edge(START, 'unpriced', null),
    edge(START, 'late', 500, { firstSeen: '2026-06-01T00:00:00Z', lastSeen: '2026-06-02T00:00:00Z' }),
  ]);
  const ids = (filter: Partial<typeof NO_FILTER>): readonly string[] =>
    viewOf(picture, { ...NO_FILTER, ...filter })
      .nodes.map(({ id }) => id)
      .sort();

  it('keeps what has no price, because not known is not little', () => {
    expect(ids({ minUsd: 100 })).toEqual(['large', 'late', START, 'unpriced']);
  });

  it('keeps transfers that overlap the days', () => {
    expect(ids({ since: '2026-03-01' })).toEqual(['late', START]);
    expect(ids({ until: '2026-03-01' })).toEqual(['large', 'small', START, 'unpriced']);
  });
});

it('notes are part of the steps that undo takes back and redo brings back', () => {
  const picture = first([edge(START, 'a')]);
  const noted = annotate(picture, 'a', 'asked the customer');
  const steps = nextStep(firstStep(picture), noted);
  expect(undoStep(steps).now.notes.size).toBe(0);
  expect(redoStep(undoStep(steps)).now.notes.get('a')).toBe('asked the customer');
  expect(annotate(noted, 'a', ' ').notes.size).toBe(0);
  expect(undoStep(undoStep(steps)).now).toBe(picture);
  expect(nextStep(undoStep(steps), picture).future).toEqual([]);
});

const colours = { border: '#111111', fill: '#eeeeee', ink: '#000000' };
const options = {
  palette: {
    ground: '#ffffff',
    ink: '#000000',
    ink2: '#555555',
    edge: '#999999',
    accent: '#0000ff',
    levels: { LOW: colours, MEDIUM: colours, HIGH: colours, CRITICAL: colours, UNKNOWN: colours },
  },
  start: START,
  title: 'Trace',
  about: 'now',
  more: (count: number) => `+${count} more`,
  legend: [],
  notes: new Map([['a', '<b>&"note"']]),
};

describe('the SVG of a trace', () => {
  it('shows that a name has invisible characters, so that it does not read as another one', () => {
    const picture = first([edge(START, 'a')], {
      nodes: [node('a', { name: 'Bi\u200Bnance', stop: 'SERVICE' })],
    });
    const { svg } = svgOf(viewOf(picture), picture.places, options);
    expect(svg).toContain('>Bi\uFFFDnance<');
  });

  it('contains hostile names as text that turns nothing around', () => {
    const name = '</text><script>alert(1)</script>\u202Eevil\u0000';
    const picture = first([edge(START, 'a')], { nodes: [node('a', { name, stop: 'SERVICE' })] });
    const { svg } = svgOf(viewOf(picture), picture.places, options);
    for (const bad of ['<script', '\u202E', '\u0000']) expect(svg).not.toContain(bad);
    expect(svg).toContain('&lt;/text&gt;');
    expect(svg).toContain('&lt;b&gt;&amp;&quot;note&quot;');
    expect(svg).not.toMatch(/href|url\((?!#)/);
  });

  it('is the same for the same picture, and says how many are not drawn', () => {
    const draw = (): string => {
      const picture = first(manyEdges);
      return svgOf(viewOf(picture), picture.places, options).svg;
    };
    expect(draw()).toBe(draw());
    expect(draw()).toContain('+28 more');
  });
});

it('every category has letters of its own', () => {
  const { categories } = JSON.parse(readFileSync(join(projectRoot, 'data', 'categories.json'), 'utf8')) as {
    categories: readonly { id: string }[];
  };
  for (const { id } of categories) expect(CATEGORY_CODES, id).toHaveProperty(id);
  const codes = Object.values(CATEGORY_CODES);
  expect(new Set(codes).size).toBe(codes.length);
  expect(categoryCode('NEW_CATEGORY')).toBe('NE');
});
