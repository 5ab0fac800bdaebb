/** The picture as SVG: a pure function, so that the same picture is the same file. PNG is made from it. */
import type { RiskLevel } from '../../ui/RiskBadge.tsx';
import { codeOf, cutText, labelOf, levelOf, RADIUS, ROW_PX, thicknessOf, xOf, yOf } from './geometry.ts';
import type { Place, Places } from './layout.ts';
import type { View, ViewEdge, ViewNode } from './view.ts';

export interface LevelColours {
  readonly border: string;
  readonly fill: string;
  readonly ink: string;
}

/** Colours of the theme, resolved. */
export interface Palette {
  readonly ground: string;
  readonly ink: string;
  readonly ink2: string;
  readonly edge: string;
  readonly accent: string;
  readonly levels: Readonly<Record<RiskLevel, LevelColours>>;
}

export interface SvgOptions {
  readonly palette: Palette;
  readonly start: string;
  readonly title: string;
  /** One line under the title: time, data version. */
  readonly about: string;
  readonly more: (count: number) => string;
  /** Shape and letters with their word. */
  readonly legend: readonly { readonly level: RiskLevel; readonly code: string; readonly word: string }[];
  /** Says where the trace ended, for the bar beside a node. */
  readonly notes: ReadonlyMap<string, string>;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Characters of a text in a file. */
const TEXT_MAX = 400;

/** Returns a text that is no markup. */
export const escapeXml = (text: string): string =>
  cutText(text, TEXT_MAX).replace(/[&<>"']/g, (char) => ENTITIES[char] as string);

/** Attributes of the letters in a node: a triangle has room below its middle, and a diamond has little. */
const codeText = (level: RiskLevel | null): string =>
  `font-size="${level === 'HIGH' || level === 'MEDIUM' ? 7 : 8}" font-weight="700" y="${level === 'MEDIUM' ? 4 : 3}"`;

const R = RADIUS;

/** The shapes of RiskBadge, around the middle of a node. */
const SHAPES: Readonly<Record<RiskLevel, string>> = {
  LOW: `<circle r="${R}"/>`,
  MEDIUM: `<path d="M0 ${-R} ${R * 0.87} ${R / 2}H${-R * 0.87}z"/>`,
  HIGH: `<path d="M0 ${-R} ${R} 0 0 ${R} ${-R} 0z"/>`,
  CRITICAL: `<path d="M-4 -9.5H4L9.5 -4V4L4 9.5H-4L-9.5 4V-4z"/>`,
  UNKNOWN: `<circle r="${R}" stroke-dasharray="4 3"/>`,
};
const GROUP_SHAPE = `<rect x="-7" y="-7" width="14" height="14" rx="2"/>`;

const round = (value: number): number => Math.round(value * 100) / 100;

function nodeSvg(node: ViewNode, place: Place, options: SvgOptions): string {
  const { palette, start, more, notes } = options;
  const level = levelOf(node);
  const { border, fill, ink } =
    level === null ? { border: palette.ink2, fill: palette.ground, ink: palette.ink } : palette.levels[level];
  const isLeft = place.column < 0;
  const x = isLeft ? -R - 6 : R + 6;
  const note = notes.get(node.id);
  // Lines that pass under a name leave it readable.
  const halo = `stroke="${palette.ground}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`;
  const parts = [
    `<g fill="${fill}" stroke="${border}" stroke-width="1.5">${level === null ? GROUP_SHAPE : SHAPES[level]}</g>`,
    `<text ${codeText(level)} fill="${ink}" text-anchor="middle">${escapeXml(codeOf(node))}</text>`,
    `<text unicode-bidi="isolate" fill="${palette.ink}" ${halo} x="${x}" y="4" text-anchor="${isLeft ? 'end' : 'start'}">${escapeXml(labelOf(node, more))}</text>`,
  ];
  if (node.id === start)
    parts.unshift(`<circle r="${R + 4}" fill="none" stroke="${palette.accent}" stroke-width="2"/>`);
  if (isEnd(node))
    parts.push(`<path d="M${isLeft ? -R - 3 : R + 3} -8v16" stroke="${palette.ink}" stroke-width="2"/>`);
  if (note !== undefined)
    parts.push(
      `<text unicode-bidi="isolate" font-size="10" font-style="italic" fill="${palette.ink2}" ${halo} x="${x}" y="15" text-anchor="${isLeft ? 'end' : 'start'}">${escapeXml(cutText(note, 60))}</text>`,
    );
  const title = node.node === null ? more(node.count) : node.id;
  return `<g transform="translate(${xOf(place)} ${yOf(place)})"><title>${escapeXml(title)}</title>${parts.join('')}</g>`;
}

/** Whether the trace ended at a node for good; a further hop continues at the others. */
export const isEnd = ({ node }: ViewNode): boolean =>
  node !== null && node.stop !== null && node.stop !== 'DEPTH';

function edgeSvg(edge: ViewEdge, from: Place, to: Place, { palette }: SvgOptions): string {
  const [x1, y1, x2, y2] = [xOf(from), yOf(from), xOf(to), yOf(to)];
  const length = Math.hypot(x2 - x1, y2 - y1);
  const cut = (R + 5) / length;
  const line = `x1="${round(x1 + (x2 - x1) * cut)}" y1="${round(y1 + (y2 - y1) * cut)}" x2="${round(x2 - (x2 - x1) * cut)}" y2="${round(y2 - (y2 - y1) * cut)}"`;
  const colour = edge.isOnPath ? palette.accent : palette.edge;
  return `<line ${line} stroke="${colour}" stroke-width="${round(thicknessOf(edge))}" marker-end="url(#${edge.isOnPath ? 'b' : 'a'})"/>`;
}

/** Room for names at both sides, and for the title above. */
const MARGIN = { side: 220, top: 64, bottom: 24 };

const marker = (id: string, colour: string): string =>
  `<marker id="${id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="${colour}"/></marker>`;

/** Returns the picture, its size in pixels, and nothing that a viewer would load or run. */
export function svgOf(
  { nodes, edges }: View,
  places: Places,
  options: SvgOptions,
): { readonly svg: string; readonly width: number; readonly height: number } {
  const { palette, title, about, legend } = options;
  const placed = nodes.flatMap((node) => {
    const place = places.get(node.id);
    return place === undefined ? [] : [{ node, place }];
  });
  const at = new Map(placed.map(({ node, place }) => [node.id, place]));
  const xs = placed.map(({ place }) => xOf(place));
  const ys = placed.map(({ place }) => yOf(place));
  const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), 0);
  const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);
  const legendHeight = legend.length * 20 + 12;
  const left = least(xs) - MARGIN.side;
  const top = least(ys) - MARGIN.top;
  const width = most(xs) - least(xs) + 2 * MARGIN.side;
  const height = most(ys) - least(ys) + MARGIN.top + MARGIN.bottom + ROW_PX + legendHeight;
  const lines = edges.flatMap((edge) => {
    const from = at.get(edge.from);
    const to = at.get(edge.to);
    return from === undefined || to === undefined ? [] : [edgeSvg(edge, from, to, options)];
  });
  const keys = legend.map(({ level, code, word }, row) => {
    const { border, fill, ink } = palette.levels[level];
    const y = top + height - legendHeight + row * 20;
    return `<g transform="translate(${left + 24} ${y})"><g fill="${fill}" stroke="${border}" stroke-width="1.5">${SHAPES[level]}</g><text ${codeText(level)} fill="${ink}" text-anchor="middle">${escapeXml(code)}</text><text unicode-bidi="isolate" fill="${palette.ink}" x="18" y="4">${escapeXml(word)}</text></g>`;
  });
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${left} ${top} ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escapeXml(title)}</title>`,
    `<defs>${marker('a', palette.edge)}${marker('b', palette.accent)}</defs>`,
    `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="${palette.ground}"/>`,
    `<text unicode-bidi="isolate" fill="${palette.ink}" x="${left + 16}" y="${top + 24}" font-size="14" font-weight="600">${escapeXml(title)}</text>`,
    `<text unicode-bidi="isolate" font-size="10" font-style="italic" fill="${palette.ink2}" x="${left + 16}" y="${top + 42}">${escapeXml(about)}</text>`,
    ...lines,
    ...placed.map(({ node, place }) => nodeSvg(node, place, options)),
    ...keys,
    '</svg>\n',
  ].join('\n');
  return { svg, width, height };
}
