/** `/trace/{chain}/{address}`: where funds came from and went, as a picture and as tables. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { useShortcut } from '../../shell/shortcuts.ts';
import { Address, shorten } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { useFocusWhileAsking } from '../../ui/focus.ts';
import { Page } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { ToCase } from '../case/ToCase.tsx';
import {
  askTrace,
  CREDITS,
  caseLinkOf,
  creditsOf,
  filterIn,
  growthOf,
  isWanted,
  optionsIn,
  renewTrace,
  type TraceAnswer,
  type TraceOptions,
  wantTrace,
} from './answer.ts';
import { Board } from './Board.tsx';
import type { TraceCanvas } from './canvas.ts';
import { Details } from './Details.tsx';
import { Findings } from './Findings.tsx';
import { useHistory } from './history.ts';
import { isUndo, keepImported, keepNotes, keptNotes, takeImported } from './keep.ts';
import { Legend, legendOf } from './Legend.tsx';
import { FilterForm, OptionsForm } from './Options.tsx';
import { usePalette } from './palette.ts';
import {
  annotate,
  collapse,
  emptyPicture,
  grow,
  open,
  type Picture,
  reveal,
  type TraceEdge,
} from './picture.ts';
import { svgOf } from './svg.ts';
import { Tables } from './Tables.tsx';
import { Toolbar } from './Toolbar.tsx';
import { viewOf } from './view.ts';
import './trace.css';

/** The value of `from` in the URL if the picture is that of a file: it was paid for by somebody else, and nothing is asked. */
const FILE = 'file';

/** The page. */
export function TracePage(): ReactNode {
  const { t } = useI18n();
  const { chain, address } = useParams({ from: `/inside${PATHS.trace}` });
  const [search] = useUrlState();
  const options = optionsIn(search);
  const isFile = search.from === FILE;
  const [, setPresses] = useState(0);
  const mayAsk = isWanted(chain, address, options);
  const ask = (): void => {
    wantTrace(chain, address, options);
    setPresses((count) => count + 1);
  };
  const queryKey = ['trace', chain, address, options] as const;
  const again = (): void => {
    renewTrace(chain, address, options);
    void queries.resetQueries({ queryKey, exact: true });
  };
  const answer = useQuery({
    queryKey,
    queryFn: ({ signal }) => askTrace(chain, address, options, signal),
    // It has been paid for, and says itself how old it is.
    staleTime: Number.POSITIVE_INFINITY,
    enabled: !isFile && mayAsk,
  });
  useFocusWhileAsking(answer.isPending);
  return (
    <Page
      title={`${t('trace.title')} ${shorten(address)}`}
      heading={<Address address={answer.data?.address ?? address} chain={chain} isFull />}
      actions={
        isFile || !mayAsk || answer.data === undefined ? undefined : (
          <>
            <Button isBusy={answer.isFetching} onClick={again}>
              {t('trace.again', { credits: creditsOf(options) })}
            </Button>
            <CaseActions answer={answer.data} options={options} />
          </>
        )
      }
    >
      <OptionsForm key={`${chain} ${address}`} chain={chain} address={address} />
      {isFile || mayAsk ? null : (
        <Empty title={t('trace.askFirst')}>
          <Button kind="primary" onClick={ask}>
            {t('trace.go', { credits: CREDITS.path })}
          </Button>
        </Empty>
      )}
      {answer.isLoading ? (
        <div className="section">
          <Loading lines={10} />
        </div>
      ) : null}
      {answer.error === null ? null : <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {isFile ? <FromFile key={`${chain} ${address}`} chain={chain} address={address} /> : null}
      {!isFile && mayAsk && answer.data !== undefined ? (
        <Traced key={JSON.stringify([chain, address, options])} answer={answer.data} />
      ) : null}
    </Page>
  );
}

function CaseActions({
  answer,
  options,
}: {
  readonly answer: TraceAnswer;
  readonly options: TraceOptions;
}): ReactNode {
  const { t } = useI18n();
  const [search] = useUrlState();
  const { chain, address } = answer;
  return (
    <ToCase
      title={`${t('trace.title')} ${chain} ${shorten(address)}`}
      help={t('trace.caseHelp')}
      links={() => [caseLinkOf(answer, options, filterIn(search))]}
    />
  );
}

function Traced({ answer }: { readonly answer: TraceAnswer }): ReactNode {
  const [first] = useState(() => {
    const { chain, address, dataVersion, tracedAt } = answer;
    const picture = grow(emptyPicture(chain, address), {
      ...growthOf(answer),
      dataVersion,
      tracedAt,
      expanded: address,
    });
    return { ...picture, notes: keptNotes(picture) };
  });
  return (
    <>
      <Findings answer={answer} />
      <Workbench first={first} isFile={false} />
    </>
  );
}

function FromFile({ chain, address }: { readonly chain: string; readonly address: string }): ReactNode {
  const { t, time } = useI18n();
  const [, change] = useUrlState();
  const [first] = useState(() => takeImported(chain, address));
  const trace = <Button onClick={() => change({ from: '' })}>{t('trace.traceNow')}</Button>;
  if (first === null)
    return (
      <Empty title={t('trace.fileGone')}>
        <p>{t('trace.fileGoneHelp')}</p>
        {trace}
      </Empty>
    );
  return (
    <>
      <p className="warning-line">
        {t('trace.fromFile', { time: first.tracedAt === '' ? '?' : time(first.tracedAt) })}
      </p>
      <Workbench first={first} isFile />
    </>
  );
}

interface WorkbenchProps {
  readonly first: Picture;
  readonly isFile: boolean;
}

/** Answers of the picture that the person works on, and what is done with it. */
function Workbench({ first, isFile }: WorkbenchProps): ReactNode {
  const { t, word, time } = useI18n();
  const navigate = useNavigate();
  const [search] = useUrlState();
  const history = useHistory(() => first);
  const { now: picture, change, undo, redo } = history;
  const [selected, setSelected] = useState<string | null>(null);
  const board = useRef<TraceCanvas | null>(null);
  const palette = usePalette();
  const { min, since, until } = search;
  const filter = useMemo(() => filterIn({ min, since, until }), [min, since, until]);
  const view = useMemo(() => viewOf(picture, filter), [picture, filter]);
  const legend = useMemo(() => legendOf(view), [view]);

  const expand = useMutation({
    mutationFn: (address: string) => askTrace(picture.chain, address, {}),
    onSuccess: (answer, address) => {
      const { dataVersion, tracedAt } = answer;
      change((before) => grow(before, { ...growthOf(answer), dataVersion, tracedAt, expanded: address }));
    },
  });
  const onNote = (id: string, text: string): void => change((before) => annotate(before, id, text));
  const fold = (id: string): void =>
    change((before) => (before.collapsed.has(id) ? open(before, id) : collapse(before, id)));
  // The notes of a file are in the file, and are not those of the person.
  useEffect(() => {
    if (!isFile) keepNotes(picture);
  }, [picture, isFile]);
  const select = useCallback((id: string | null) => setSelected(id), []);
  const show = (id: string): void => {
    setSelected(id);
    const node = view.nodes.some((each) => each.id === id);
    const edge = view.edges.find((each) => each.id === id);
    board.current?.centre(node ? id : (edge?.to ?? picture.start));
    document.querySelector('.trace-board')?.scrollIntoView({ block: 'nearest' });
  };
  /** An address that is not drawn is in the node that counts it. */
  const showNode = (id: string): void => {
    const edge = view.edges.find(({ edges }) => edges.some(({ from, to }) => from === id || to === id));
    if (picture.shown.has(id)) show(id);
    else if (edge !== undefined) show(edge.edges.some(({ from }) => from === id) ? edge.from : edge.to);
  };
  const showEdge = ({ id }: TraceEdge): void => {
    const edge = view.edges.find(({ edges }) => edges.some((each) => each.id === id));
    if (edge !== undefined) show(edge.id);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const step = isUndo(event);
      if (step === null) return;
      event.preventDefault();
      if (step === 'undo') undo();
      else redo();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [undo, redo]);
  useShortcut('u', 'trace.undo', undo);
  useShortcut('r', 'trace.redo', redo);
  useShortcut('Escape', 'trace.deselect', () => setSelected(null), selected !== null);
  useShortcut('c', 'trace.fold', () => selected !== null && fold(selected), selected !== null);
  useShortcut('f', 'trace.fit', () => board.current?.fit());

  const more = useCallback((count: number) => t('trace.more', { count }), [t]);
  const drawSvg = () =>
    svgOf(view, picture.places, {
      palette,
      start: picture.start,
      title: t('trace.fileTitle', { address: picture.start, chain: picture.chain }),
      about: t('trace.fileAbout', {
        time: picture.tracedAt === '' ? '?' : time(picture.tracedAt),
        versions: picture.dataVersions.join(', '),
      }),
      more,
      legend: legend.map(({ level, code, category }) => ({
        level,
        code,
        word: `${word('category', category)}, ${word('risk', level)}`,
      })),
      notes: picture.notes,
    });
  const onImport = (next: Picture): void => {
    setSelected(null);
    keepImported(next);
    // Beside the picture of a trace are the findings of the server, which are not those of the file: it gets a page of its own.
    if (isFile && next.chain === picture.chain && next.start === picture.start) {
      change(() => next);
      return;
    }
    void navigate({
      to: PATHS.trace,
      params: { chain: next.chain, address: next.start },
      search: { from: FILE } as never,
    });
  };
  return (
    <>
      <section className="section trace-section" aria-label={t('trace.picture')}>
        <Toolbar history={history} filter={filter} drawSvg={drawSvg} onImport={onImport} />
        <FilterForm />
        <div className="trace-split">
          <Board
            picture={picture}
            view={view}
            palette={palette}
            selected={selected}
            onSelect={select}
            board={board}
            drawSvg={() => drawSvg().svg}
          />
          <div className="trace-side">
            <Details
              picture={picture}
              view={view}
              selected={selected}
              isBusy={expand.isPending}
              error={expand.error}
              onExpand={(id) => expand.mutate(id)}
              onReveal={(group, count) => change((before) => reveal(before, group, count))}
              onNote={onNote}
              onFold={fold}
            />
            <Legend rows={legend} />
          </div>
        </div>
        <p className="muted">{t('trace.pictureNote')}</p>
      </section>
      <Tables picture={picture} filter={filter} onNode={showNode} onEdge={showEdge} />
    </>
  );
}
