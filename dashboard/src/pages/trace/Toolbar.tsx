/** Undo, redo, and the files of a trace: SVG, PNG, CSV and `.assay.json`. */
import { type ChangeEvent, type ReactNode, useRef, useState } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { shorten } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { csvText } from '../../ui/csv.ts';
import { saveFile } from '../../ui/save-file.ts';
import { FILE_BYTES_MAX, type FileProblem, readFile, writeFile } from './file.ts';
import type { History } from './history.ts';
import type { Picture } from './picture.ts';
import { savePng } from './png.ts';
import { type Filter, isKept } from './view.ts';

interface ToolbarProps {
  readonly history: History<Picture>;
  readonly filter: Filter;
  readonly drawSvg: () => { readonly svg: string; readonly width: number; readonly height: number };
  readonly onImport: (picture: Picture) => void;
}

const JSON_TYPE = 'application/json';

/** The name of a file: the address and the second of the export. */
const nameOf = ({ chain, start }: Picture, end: string): string =>
  `trace-${chain}-${shorten(start).replace('…', '-')}-${new Date().toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '')}.${end}`.replace(
    /[^\w.-]/g,
    '_',
  );

function csvOf({ edges, nodes, notes, chain }: Picture, filter: Filter): string {
  const header = [
    'chain',
    'from',
    'from_name',
    'from_category',
    'to',
    'to_name',
    'to_category',
    'asset',
    'amount',
    'usd',
    'transfers',
    'first_seen',
    'last_seen',
    'note',
    'from_note',
    'to_note',
  ];
  const rows = [...edges.values()]
    .filter((edge) => isKept(edge, filter))
    .map(({ id, from, to, asset, value, usd, transfers, firstSeen, lastSeen }) => [
      chain,
      from,
      nodes.get(from)?.name,
      nodes.get(from)?.category,
      to,
      nodes.get(to)?.name,
      nodes.get(to)?.category,
      asset,
      value,
      usd,
      transfers,
      firstSeen,
      lastSeen,
      notes.get(id),
      notes.get(from),
      notes.get(to),
    ]);
  return csvText(header, rows);
}

/** Shows the buttons. */
export function Toolbar({ history, filter, drawSvg, onImport }: ToolbarProps): ReactNode {
  const { t } = useI18n();
  const { now, undo, redo, canUndo, canRedo } = history;
  const [problem, setProblem] = useState<FileProblem | null>(null);
  const [isPngLost, setPngLost] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const open = async (event: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const [file] = event.target.files ?? [];
    // The same file can be chosen again.
    const input = event.target;
    if (file === undefined) return;
    const read = file.size > FILE_BYTES_MAX ? tooLarge : readFile(await file.text());
    input.value = '';
    setProblem('problem' in read ? read.problem : null);
    if ('picture' in read) onImport(read.picture);
  };
  return (
    <div className="trace-tools">
      <div className="actions">
        <Button aria-keyshortcuts="Control+Z" aria-disabled={!canUndo || undefined} onClick={undo}>
          {t('trace.undo')}
        </Button>
        <Button aria-keyshortcuts="Control+Y" aria-disabled={!canRedo || undefined} onClick={redo}>
          {t('trace.redo')}
        </Button>
      </div>
      <div className="actions">
        <Button
          kind="quiet"
          icon="download"
          onClick={() => saveFile(nameOf(now, 'svg'), 'image/svg+xml', drawSvg().svg)}
        >
          SVG
        </Button>
        <Button
          kind="quiet"
          icon="download"
          onClick={() => void savePng(drawSvg(), nameOf(now, 'png')).then((isSaved) => setPngLost(!isSaved))}
        >
          PNG
        </Button>
        <Button
          kind="quiet"
          icon="download"
          onClick={() => saveFile(nameOf(now, 'csv'), 'text/csv;charset=utf-8', csvOf(now, filter))}
        >
          CSV
        </Button>
        <Button
          kind="quiet"
          icon="download"
          onClick={() =>
            saveFile(nameOf(now, 'assay.json'), JSON_TYPE, writeFile(now, new Date().toISOString()))
          }
        >
          .assay.json
        </Button>
        <Button kind="quiet" onClick={() => picker.current?.click()}>
          {t('trace.import')}
        </Button>
        <input ref={picker} type="file" hidden accept=".json" onChange={(event) => void open(event)} />
      </div>
      {problem === null ? null : (
        <p className="form-error" role="alert">
          {t(`trace.file.${problem.code}`, { field: problem.field })}
        </p>
      )}
      {isPngLost ? (
        <p className="form-error" role="alert">
          {t('trace.pngLost')}
        </p>
      ) : null}
    </div>
  );
}

const tooLarge = { problem: { code: 'size', field: '' } } as const;
