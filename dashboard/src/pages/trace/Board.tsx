/** The picture with its buttons. Without WebGL, the same picture is an image. */
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Button, IconButton } from '../../ui/Button.tsx';
import { Loading } from '../../ui/states.tsx';
import type { TraceCanvas } from './canvas.ts';
import { hashPlaces } from './layout.ts';
import type { Picture } from './picture.ts';
import type { Palette } from './svg.ts';
import type { View } from './view.ts';

export interface BoardProps {
  readonly picture: Picture;
  readonly view: View;
  readonly palette: Palette;
  readonly selected: string | null;
  readonly onSelect: (id: string | null) => void;
  /** Set to the canvas, with which tables show where a row is. */
  readonly board: { current: TraceCanvas | null };
  /** Draws the picture as SVG, for browsers without WebGL. */
  readonly drawSvg: () => string;
}

function hasWebGl(): boolean {
  return document.createElement('canvas').getContext('webgl2') !== null;
}

/** Shows the picture. */
export function Board(props: BoardProps): ReactNode {
  const { t } = useI18n();
  const { picture, view } = props;
  const [canDraw] = useState(hasWebGl);
  const words = t('trace.pictureAlt', {
    address: picture.start,
    nodes: view.nodes.length,
    edges: view.edges.length,
  });
  return canDraw ? <Drawing {...props} words={words} /> : <StillImage {...props} words={words} />;
}

function Drawing(props: BoardProps & { readonly words: string }): ReactNode {
  const { t } = useI18n();
  const { picture, view, palette, selected, onSelect, board, words } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [canvas, setCanvas] = useState<TraceCanvas | null>(null);
  const latest = useRef(onSelect);
  latest.current = onSelect;
  useEffect(() => {
    let drawn: TraceCanvas | null = null;
    let isOver = false;
    void import('./canvas.ts').then(({ TraceCanvas: Canvas }) => {
      const element = frame.current;
      if (isOver || element === null) return;
      drawn = new Canvas(element, {
        onSelect: (id) => latest.current(id),
        onFrame: () => {
          element.dataset.frames = String(Number(element.dataset.frames ?? 0) + 1);
        },
      });
      board.current = drawn;
      setCanvas(drawn);
    });
    return () => {
      isOver = true;
      board.current = null;
      drawn?.end();
    };
  }, [board]);
  const noted = useMemo(() => new Set(picture.notes.keys()), [picture.notes]);
  useEffect(() => {
    canvas?.show(view, picture.places, {
      palette,
      start: picture.start,
      selected,
      noted,
      more: (count) => t('trace.more', { count }),
    });
  }, [canvas, view, picture.places, picture.start, palette, selected, noted, t]);
  return (
    <div className="trace-board">
      <div
        ref={frame}
        className="trace-canvas"
        role="img"
        aria-label={words}
        data-nodes={view.nodes.length}
        data-edges={view.edges.length}
        data-layout={hashPlaces(picture.places)}
      />
      {canvas === null ? <Loading lines={6} /> : null}
      <div className="trace-zoom">
        <IconButton icon="plus" name={t('trace.zoomIn')} onClick={() => canvas?.zoom(true)} />
        <IconButton icon="minus" name={t('trace.zoomOut')} onClick={() => canvas?.zoom(false)} />
        <Button kind="quiet" onClick={() => canvas?.fit()}>
          {t('trace.fit')}
        </Button>
      </div>
    </div>
  );
}

function StillImage({ drawSvg, words }: BoardProps & { readonly words: string }): ReactNode {
  const { t } = useI18n();
  const svg = drawSvg();
  const [url, setUrl] = useState('');
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  return (
    <>
      <p className="muted">{t('trace.noWebGl')}</p>
      {url === '' ? null : <img className="trace-still" src={url} alt={words} />}
    </>
  );
}
