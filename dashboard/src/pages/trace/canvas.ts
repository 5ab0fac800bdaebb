/** The picture on the screen, drawn by sigma. A chunk of its own: nobody loads it who does not trace. */
import { DirectedGraph } from 'graphology';
import Sigma from 'sigma';
import { EdgeArrowProgram } from 'sigma/rendering';
import { COLUMN_PX, codeOf, labelOf, levelOf, RADIUS, ROW_PX, thicknessOf, xOf, yOf } from './geometry.ts';
import type { Places } from './layout.ts';
import { SHAPE, ShapeProgram } from './shapes.ts';
import { isEnd, type Palette } from './svg.ts';
import type { View, ViewNode } from './view.ts';

export interface Look {
  readonly palette: Palette;
  readonly start: string;
  /** Id of a node or an edge of the view. */
  readonly selected: string | null;
  /** Ids with a note. */
  readonly noted: ReadonlySet<string>;
  readonly more: (count: number) => string;
}

export interface Listeners {
  readonly onSelect: (id: string | null) => void;
  /** After each frame. */
  readonly onFrame: () => void;
}

/** Pixels around the picture. */
const PADDING = 24;
/** A node is never smaller, or nobody hits it, and never larger, or a name has no room. */
const RADIUS_MIN = 1.5;
const RADIUS_MAX = 12;
/** Radius for each pixel between two rows: two neighbours nearly touch before they shrink. */
const ROW_SHARE = 0.46;
/** From these sizes on, letters and names can be read. */
const LETTERS_FROM = 7;
const NAMES_FROM = 13;
const ZOOM_STEP = 1.5;
/** The design: motion explains a change, in 150 ms. */
const MOVE_MS = 150;

const isCalm = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;

type Extent = [number, number];

/** The part of the plane that is first in view: all nodes and their names, at no more than their own size. */
function boxOf(places: Places, width: number, height: number): { x: Extent; y: Extent } {
  const xs: number[] = [];
  const ys: number[] = [];
  for (const place of places.values()) {
    xs.push(xOf(place));
    ys.push(-yOf(place));
  }
  const side = (values: readonly number[], margin: number, least: number): Extent => {
    const from = values.reduce((a, b) => Math.min(a, b), 0) - margin;
    const to = values.reduce((a, b) => Math.max(a, b), 0) + margin;
    const missing = Math.max(0, least - (to - from)) / 2;
    return [from - missing, to + missing];
  };
  return { x: side(xs, COLUMN_PX * 0.85, width - 2 * PADDING), y: side(ys, ROW_PX, height - 2 * PADDING) };
}

/** Draws pictures into an element. */
export class TraceCanvas {
  private readonly graph = new DirectedGraph();
  private readonly sigma: Sigma;
  private readonly marks: CanvasRenderingContext2D;
  private readonly container: HTMLElement;
  private view: View = { nodes: [], edges: [] };
  private places: Places = new Map();
  private look: Look | null = null;
  private hasBox = false;

  constructor(container: HTMLElement, { onSelect, onFrame }: Listeners) {
    this.container = container;
    this.sigma = new Sigma(this.graph, container, {
      renderLabels: false,
      // A page that is being left has no width any more.
      allowInvalidContainer: true,
      enableEdgeEvents: true,
      defaultNodeType: 'shape',
      nodeProgramClasses: { shape: ShapeProgram as never },
      nodeHoverProgramClasses: { shape: ShapeProgram as never },
      edgeProgramClasses: { arrow: EdgeArrowProgram },
      defaultEdgeType: 'arrow',
      defaultDrawNodeHover: () => {},
      zIndex: true,
      minEdgeThickness: 0.6,
      stagePadding: PADDING,
      minCameraRatio: 0.002,
      maxCameraRatio: 4,
      zoomDuration: isCalm() ? 1 : MOVE_MS,
      doubleClickZoomingDuration: isCalm() ? 1 : MOVE_MS,
      inertiaDuration: isCalm() ? 1 : MOVE_MS,
      zoomToSizeRatioFunction: (ratio) => RADIUS / this.radiusAt(ratio),
    });
    const canvas = document.createElement('canvas');
    canvas.className = 'trace-marks';
    container.append(canvas);
    this.marks = canvas.getContext('2d') as CanvasRenderingContext2D;
    const point = (isOver: boolean) => () => container.classList.toggle('is-over', isOver);
    this.sigma.on('clickNode', ({ node }) => onSelect(node));
    this.sigma.on('clickEdge', ({ edge }) => onSelect(edge));
    this.sigma.on('clickStage', () => onSelect(null));
    this.sigma.on('enterNode', point(true));
    this.sigma.on('leaveNode', point(false));
    this.sigma.on('afterRender', () => {
      this.drawMarks();
      onFrame();
    });
  }

  /** Draws a picture. Nodes that were on the screen keep their place. */
  show(view: View, places: Places, look: Look): void {
    this.view = view;
    this.places = places;
    this.look = look;
    if (!this.hasBox && places.size > 1) this.setBox();
    this.graph.clear();
    for (const node of view.nodes) this.addNode(node, look);
    const { palette, selected } = look;
    for (const edge of view.edges) {
      if (!this.graph.hasNode(edge.from) || !this.graph.hasNode(edge.to)) continue;
      const isLit = edge.isOnPath || edge.id === selected || edge.from === selected || edge.to === selected;
      this.graph.addDirectedEdgeWithKey(edge.id, edge.from, edge.to, {
        size: thicknessOf(edge) + (edge.id === selected ? 2 : 0),
        color: isLit ? palette.accent : palette.edge,
        zIndex: isLit ? 1 : 0,
      });
    }
    this.sigma.refresh();
  }

  /** Shows the whole picture. */
  fit(): void {
    this.setBox();
    this.sigma.refresh();
    this.moveTo({ x: 0.5, y: 0.5, ratio: 1 });
  }

  zoom(isIn: boolean): void {
    const { ratio } = this.sigma.getCamera().getState();
    this.moveTo({
      ratio: this.sigma.getCamera().getBoundedRatio(isIn ? ratio / ZOOM_STEP : ratio * ZOOM_STEP),
    });
  }

  /** Moves the middle of the view to a node, near enough to read its name. */
  centre(id: string): void {
    const data = this.sigma.getNodeDisplayData(id);
    if (data === undefined) return;
    const { ratio } = this.sigma.getCamera().getState();
    this.moveTo({ x: data.x, y: data.y, ratio: Math.min(ratio, this.scale()) });
  }

  end(): void {
    this.sigma.kill();
    this.marks.canvas.remove();
  }

  private addNode(node: ViewNode, { palette }: Look): void {
    const place = this.places.get(node.id);
    if (place === undefined) return;
    const level = levelOf(node);
    const colours = level === null ? { border: palette.ink2, fill: palette.ground } : palette.levels[level];
    this.graph.addNode(node.id, {
      x: xOf(place),
      y: -yOf(place),
      size: RADIUS,
      type: 'shape',
      color: colours.border,
      fill: colours.fill,
      shape: SHAPE[level ?? 'GROUP'],
    });
  }

  private setBox(): void {
    const { width, height } = this.sigma.getDimensions();
    this.sigma.setCustomBBox(boxOf(this.places, width, height));
    this.hasBox = true;
  }

  private moveTo(state: { x?: number; y?: number; ratio?: number }): void {
    const camera = this.sigma.getCamera();
    if (isCalm()) camera.setState(state);
    else void camera.animate(state, { duration: MOVE_MS });
  }

  /** Pixels of the screen for one of the picture, if the camera shows the whole box. */
  private scale(): number {
    // The first frame is drawn by the constructor.
    const box = this.sigma?.getCustomBBox() ?? null;
    if (box === null) return 1;
    const { width, height } = this.sigma.getDimensions();
    const wide = (width - 2 * PADDING) / (box.x[1] - box.x[0]);
    const high = (height - 2 * PADDING) / (box.y[1] - box.y[0]);
    return Math.min(wide, high);
  }

  private radiusAt(ratio: number): number {
    return Math.min(RADIUS_MAX, Math.max(RADIUS_MIN, (ROW_SHARE * ROW_PX * this.scale()) / ratio));
  }

  /** Letters, names, rings and bars: they are drawn for what is in view, as large as can be read. */
  private drawMarks(): void {
    const { marks, look } = this;
    const { width, height } = this.sigma.getDimensions();
    const sharp = devicePixelRatio;
    marks.canvas.width = width * sharp;
    marks.canvas.height = height * sharp;
    if (look === null) return;
    marks.scale(sharp, sharp);
    const { ratio } = this.sigma.getCamera().getState();
    const radius = this.radiusAt(ratio);
    const hasNames = (ROW_PX * this.scale()) / ratio >= NAMES_FROM;
    const font = getComputedStyle(this.container).fontFamily;
    for (const node of this.view.nodes) {
      const place = this.places.get(node.id);
      const isMarked = node.id === look.selected || node.id === look.start;
      if (place === undefined || !(hasNames || isMarked)) continue;
      const at = this.sigma.graphToViewport({ x: xOf(place), y: -yOf(place) });
      if (at.x < -COLUMN_PX || at.y < -ROW_PX || at.x > width + COLUMN_PX || at.y > height + ROW_PX) continue;
      this.drawMark(node, at, place.column < 0, { radius, hasNames, isMarked, font });
    }
  }

  private drawMark(
    node: ViewNode,
    { x, y }: { readonly x: number; readonly y: number },
    isLeft: boolean,
    size: { radius: number; hasNames: boolean; isMarked: boolean; font: string },
  ): void {
    const { marks } = this;
    const { palette, selected, more, noted } = this.look as Look;
    const { radius, hasNames, isMarked, font } = size;
    const level = levelOf(node);
    const outward = isLeft ? -1 : 1;
    if (isMarked) {
      marks.beginPath();
      marks.arc(x, y, radius + 4, 0, 2 * Math.PI);
      marks.strokeStyle = palette.accent;
      marks.lineWidth = node.id === selected ? 3 : 1.5;
      marks.stroke();
    }
    if (isEnd(node) && radius >= LETTERS_FROM) {
      marks.fillStyle = palette.ink;
      marks.fillRect(x + outward * (radius + 3) - 1, y - radius, 2, 2 * radius);
    }
    if (radius >= LETTERS_FROM) {
      const isNarrow = level === 'HIGH' || level === 'MEDIUM';
      marks.font = `700 ${Math.round(radius * (isNarrow ? 0.7 : 0.85))}px ${font}`;
      marks.textAlign = 'center';
      marks.textBaseline = 'middle';
      marks.fillStyle = level === null ? palette.ink : palette.levels[level].ink;
      marks.fillText(codeOf(node), x, y + (level === 'MEDIUM' ? radius * 0.15 : 0.5));
    }
    if (!hasNames && !isMarked) return;
    marks.font = `${node.id === selected ? 600 : 400} 11px ${font}`;
    marks.textAlign = isLeft ? 'right' : 'left';
    marks.textBaseline = 'middle';
    const text = `${labelOf(node, more)}${noted.has(node.id) ? ' ✎' : ''}`;
    const from = x + outward * (radius + 8);
    marks.lineWidth = 4;
    marks.lineJoin = 'round';
    marks.strokeStyle = palette.ground;
    marks.strokeText(text, from, y);
    marks.fillStyle = palette.ink;
    marks.fillText(text, from, y);
  }
}
