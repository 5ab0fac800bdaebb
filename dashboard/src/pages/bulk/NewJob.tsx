/** The form of a new bulk job: a file that is dropped or chosen, or the list that was pasted into the search box. */
import { CHAINS } from 'assay:chains';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type DragEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { newKey } from '../../api/repeat-key.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { keptList } from '../../search/list.ts';
import { likelyChain } from '../../search/SearchForm.tsx';
import { entryOf } from '../../search/table.ts';
import { Button } from '../../ui/Button.tsx';
import { Choice } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Failure } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { Name } from '../../ui/values.tsx';
import { Measure, Tick } from '../manage/parts.tsx';
import { usageQuery } from '../manage/usage.tsx';
import { kilobytes } from './JobTable.tsx';
import {
  FILE_BYTES_MAX,
  type FileFacts,
  factsOf,
  type Job,
  KINDS,
  type Kind,
  sendFile,
  unitOf,
} from './upload.ts';

/** Lines of a file that are shown, and their characters. */
const LINES_SHOWN = 5;
const LINE_CHARS_SHOWN = 160;
/** EVM chains share their addresses, so a pasted address is on Ethereum unless the person chooses. */
const PASTED_CHAIN = 'ETH';

type Source =
  | { readonly kind: 'file'; readonly file: File; readonly facts: FileFacts }
  | { readonly kind: 'list'; readonly texts: readonly string[] };

/** Returns the pasted list as a file. An address that is not one of the chosen chain gets its own. */
async function fileOfList(texts: readonly string[], chosen: string): Promise<Blob> {
  const { detectChains } = await import('assay:addresses');
  const lines = texts.map((entry) => {
    const { text, chain } = entryOf(entry, detectChains);
    const chains = detectChains(text);
    if (chain !== null && chains.includes(chain)) return JSON.stringify({ address: text, chain });
    const own = chains.length === 0 || chains.includes(chosen) ? {} : { chain: likelyChain(chains) };
    return JSON.stringify({ address: text, ...own });
  });
  return new Blob([`${lines.join('\n')}\n`]);
}

/** The form. */
export function NewJob({ onSent }: { readonly onSent: () => void }): ReactNode {
  const { t } = useI18n();
  const [{ list }, change] = useUrlState();
  const [source, setSource] = useState<Source | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (list !== 'pasted') return;
    const texts = keptList();
    if (texts.length > 0) setSource({ kind: 'list', texts });
  }, [list]);
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const isEmpty = file.size === 0;
    setProblem(isEmpty ? t('bulk.empty') : file.size > FILE_BYTES_MAX ? t('bulk.tooLarge') : null);
    if (isEmpty || file.size > FILE_BYTES_MAX) return setSource(null);
    setSource({ kind: 'file', file, facts: await factsOf(file, LINES_SHOWN) });
  };
  const forget = (): void => {
    setSource(null);
    change({ list: '' });
  };
  return (
    <Section title={t('bulk.new')} note={t('bulk.newNote')}>
      {problem === null ? null : (
        <p className="form-error" role="alert">
          {problem}
        </p>
      )}
      {source === null ? (
        <Drop onFile={(file) => void take(file)} />
      ) : (
        <Options
          source={source}
          onForget={forget}
          onSent={() => {
            forget();
            onSent();
          }}
        />
      )}
    </Section>
  );
}

/** The place for a file. The input inside is what keyboards and screen readers use. */
function Drop({ onFile }: { readonly onFile: (file: File | undefined) => void }): ReactNode {
  const { t } = useI18n();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    onFile(event.dataTransfer.files[0]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button and the input inside are the first
    <div
      className={isOver ? 'drop is-over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <p>{t('bulk.drop')}</p>
      <input
        ref={input}
        type="file"
        className="visually-hidden"
        tabIndex={-1}
        aria-label={t('bulk.file')}
        accept=".csv,.txt,.ndjson,.jsonl,text/csv,text/plain,application/x-ndjson"
        onChange={(event) => onFile(event.target.files?.[0])}
      />
      <Button onClick={() => input.current?.click()}>{t('bulk.choose')}</Button>
      <p className="muted hint">{t('bulk.formats')}</p>
    </div>
  );
}

interface OptionsProps {
  readonly source: Source;
  readonly onForget: () => void;
  readonly onSent: () => void;
}

/** The operation for the lines, its cost, and the upload. */
function Options({ source, onForget, onSent }: OptionsProps): ReactNode {
  const { t, word } = useI18n();
  const [kind, setKind] = useState<Kind>('labels');
  const [chain, setChain] = useState(source.kind === 'list' ? PASTED_CHAIN : '');
  const [isWithVerdict, setWithVerdict] = useState(false);
  const [share, setShare] = useState(0);
  const stop = useRef<AbortController | null>(null);
  // A new key for every choice: the same upload that is sent again after a failure is one job.
  const key = useRef({ of: '', id: '' });
  useEffect(() => () => stop.current?.abort(), []);

  const send = useMutation({
    mutationFn: async (): Promise<Job> => {
      const choice = `${kind} ${chain} ${isWithVerdict}`;
      if (key.current.of !== choice) key.current = { of: choice, id: newKey() };
      stop.current = new AbortController();
      setShare(0);
      return sendFile({
        file: source.kind === 'file' ? source.file : await fileOfList(source.texts, chain),
        format: source.kind === 'file' ? source.facts.format : 'ndjson',
        chain: chain === '' ? null : chain,
        kind,
        isWithVerdict: kind === 'labels' && isWithVerdict,
        idempotencyKey: key.current.id,
        signal: stop.current.signal,
        onProgress: setShare,
      });
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['usage'] });
      onSent();
    },
  });
  const isStopped = stop.current?.signal.aborted === true;
  const lines = source.kind === 'file' ? source.facts.lines : source.texts.length;
  return (
    <div className="form">
      <SourceView source={source} />
      <div className="row-form">
        <Choice
          label={t('bulk.kind')}
          value={kind}
          options={KINDS.map((value) => ({ value, label: word('jobKind', value) }))}
          onChange={(value) => setKind(value as Kind)}
        />
        <Choice
          label={t('bulk.chain')}
          value={chain}
          options={[
            ...(source.kind === 'file' ? [{ value: '', label: t('bulk.chainOfLines') }] : []),
            ...CHAINS.map(({ id, name }) => ({ value: id, label: `${name} (${id})` })),
          ]}
          onChange={setChain}
        />
      </div>
      <p className="muted">{word('jobKindHelp', kind)}</p>
      {kind === 'labels' ? (
        <Tick label={t('bulk.verdict')} checked={isWithVerdict} onTick={setWithVerdict} />
      ) : null}
      <Cost kind={kind} lines={lines} />
      {send.isPending ? (
        <div className="job-progress" role="status">
          <span>{t(share < 1 ? 'bulk.sending' : 'bulk.waiting')}</span>
          <Measure label={t('bulk.sending')} value={Math.round(share * 100)} max={100} />
        </div>
      ) : null}
      {send.error === null || isStopped ? null : <Failure error={send.error} />}
      <div className="actions">
        <Button kind="primary" isBusy={send.isPending} onClick={() => send.mutate()}>
          {t('bulk.start')}
        </Button>
        <Button onClick={() => (send.isPending ? stop.current?.abort() : onForget())}>
          {t(send.isPending ? 'bulk.stop' : 'ui.cancel')}
        </Button>
      </div>
    </div>
  );
}

/** The chosen file or list with its first lines. */
function SourceView({ source }: { readonly source: Source }): ReactNode {
  const { t, number } = useI18n();
  const head = source.kind === 'file' ? source.facts.head : source.texts.slice(0, LINES_SHOWN);
  return (
    <>
      <p>
        {source.kind === 'list' ? (
          <strong>{t('bulk.pasted', { count: source.texts.length })}</strong>
        ) : (
          <>
            <strong>
              <Name text={source.file.name} />
            </strong>{' '}
            <span className="muted">
              {t('bulk.bytes', { size: number(kilobytes(source.file.size)) })} ·{' '}
              {source.facts.format.toUpperCase()}
              {source.facts.lines === null ? '' : ` · ${t('bulk.lineCount', { count: source.facts.lines })}`}
            </span>
          </>
        )}
      </p>
      <section
        className="preview"
        aria-label={t('bulk.preview')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
      >
        <pre className="mono">
          <bdi>{head.map((line) => line.slice(0, LINE_CHARS_SHOWN)).join('\n')}</bdi>
        </pre>
      </section>
    </>
  );
}

/** The cost of the lines beside the balance. */
function Cost({ kind, lines }: { readonly kind: Kind; readonly lines: number | null }): ReactNode {
  const { t } = useI18n();
  const usage = useQuery(usageQuery);
  const unit = unitOf(kind);
  const quota = usage.data?.plan.quotas.find(({ meter }) => meter === 'intel');
  const left =
    unit === 'credits'
      ? (usage.data?.dashboard?.balance ?? null)
      : quota === undefined || quota.limit === null
        ? null
        : Math.max(0, quota.limit - quota.used);
  const isTooMuch = lines !== null && left !== null && lines > left;
  return (
    <p className={isTooMuch ? 'warning-line' : undefined}>
      {lines === null ? t(`bulk.needsEach.${unit}`) : t(`bulk.needs.${unit}`, { count: lines })}{' '}
      {left === null ? null : t(`bulk.left.${unit}`, { count: left })}
    </p>
  );
}
