/** Adds the wallets of a CSV file. The file is read in the browser; every row has its result, and what was not added can be saved. */
import { CHAINS } from 'assay:chains';
import { type ChangeEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react';
import { ApiError } from '../../api/errors.ts';
import { newKey } from '../../api/repeat-key.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Address } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { csvText } from '../../ui/csv.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Choice } from '../../ui/Field.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { Name } from '../../ui/values.tsx';
import { addWallet, type WalletBody } from './add.ts';
import { readWallets, type WalletFile, type WalletRow } from './wallet-csv.ts';

/** The outcome of a row. */
type Result = { readonly state: 'ready' | 'added' } | { readonly state: 'failed'; readonly message: string };

interface Entry {
  readonly row: WalletRow;
  readonly key: string;
  readonly result: Result;
}

/** Characters of a file: 10,000 rows with notes. A larger one would stop the page for seconds. */
const FILE_CHARS_MAX = 16_000_000;

const bodyOf = ({ address, chain, label, notes, threshold, frequency, webhook }: WalletRow): WalletBody =>
  ({
    walletAddress: address,
    chain,
    ...(label === '' ? {} : { label }),
    ...(notes === '' ? {} : { notes }),
    ...(threshold === '' ? {} : { alertThreshold: threshold }),
    ...(frequency === '' ? {} : { alertFrequency: frequency }),
    ...(webhook === '' ? {} : { customWebhookUrl: webhook }),
  }) as WalletBody;

const keyOf = ({ key }: Entry): string => key;

/** The work on a file: entries, and how it goes on. */
function useImport() {
  const [file, setFile] = useState<WalletFile | null>(null);
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [isRunning, setRunning] = useState(false);
  const [waitSeconds, setWait] = useState<number | null>(null);
  const stop = useRef(new AbortController());

  useEffect(() => {
    if (!isRunning) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isRunning]);
  useEffect(() => () => stop.current.abort(), []);

  const open = (next: WalletFile): void => {
    setFile(next);
    setEntries(next.rows.map((row) => ({ row, key: newKey(), result: { state: 'ready' } })));
  };
  const run = async (): Promise<void> => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    setRunning(true);
    for (const { row, key, result } of entries) {
      if (row.problem !== null || result.state === 'added' || signal.aborted) continue;
      let next: Result = { state: 'added' };
      let isEnd = false;
      try {
        await addWallet(bodyOf(row), key, { signal, onWait: setWait });
      } catch (error) {
        if (signal.aborted) break;
        next = { state: 'failed', message: (error as Error).message };
        // Without credits, or without the server, all further rows would fail as well: they stay as they are.
        isEnd =
          error instanceof ApiError && (error.status === 402 || error.status === 0 || error.status === 403);
      }
      setEntries((all) => all.map((entry) => (entry.key === key ? { ...entry, result: next } : entry)));
      if (isEnd) break;
    }
    setRunning(false);
    await queries.invalidateQueries({ queryKey: ['wallets'] });
  };
  return { file, entries, isRunning, waitSeconds, open, run, stop: () => stop.current.abort() };
}

const isMonitored = (chain: string): boolean => CHAINS.some(({ id, monitored }) => id === chain && monitored);

/** The form, the rows and their results. */
export function ImportWallets(): ReactNode {
  const { t } = useI18n();
  const field = useId();
  const work = useImport();
  const [chain, setChain] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const choose = async (event: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const [chosen] = event.target.files ?? [];
    if (chosen === undefined) return;
    const input = event.target;
    const text = await chosen.text();
    // The same file can be chosen again after it was corrected.
    input.value = '';
    setProblem(text.length > FILE_CHARS_MAX ? t('wallets.fileSize') : null);
    if (text.length > FILE_CHARS_MAX) return;
    const { detectChains } = await import('assay:addresses');
    work.open(readWallets(text, chain, { isMonitored, detectChains }));
  };
  return (
    <details className="section">
      <summary>{t('wallets.import')}</summary>
      <p className="muted">{t('wallets.importNote')}</p>
      <div className="inline-form">
        <Choice
          label={t('wallets.standardChain')}
          value={chain}
          options={[
            { value: '', label: t('wallets.noChain') },
            ...CHAINS.filter(({ monitored }) => monitored).map(({ id, name }) => ({
              value: id,
              label: name,
            })),
          ]}
          onChange={setChain}
        />
        <div className="field">
          <label htmlFor={field}>{t('wallets.file')}</label>
          <input
            id={field}
            type="file"
            accept=".csv,.txt,text/csv,text/plain"
            // Not disabled: it would lose the focus.
            aria-disabled={work.isRunning}
            onClick={(event) => {
              if (work.isRunning) event.preventDefault();
            }}
            onChange={(event) => void choose(event)}
          />
        </div>
      </div>
      {problem === null ? null : (
        <p className="form-error" role="alert">
          {problem}
        </p>
      )}
      {work.file === null ? null : <Rows work={work} file={work.file} />}
    </details>
  );
}

interface RowsProps {
  readonly work: ReturnType<typeof useImport>;
  readonly file: WalletFile;
}

function Rows({ work, file }: RowsProps): ReactNode {
  const { t } = useI18n();
  const { entries, isRunning, waitSeconds } = work;
  const bad = entries.filter(({ row }) => row.problem !== null).length;
  const added = entries.filter(({ result }) => result.state === 'added').length;
  const left = entries.length - bad - added;
  return (
    <>
      <p role="status">
        {t('wallets.importState', { total: entries.length, added, left, bad })}
        {waitSeconds === null ? '' : ` ${t('alerts.waiting', { seconds: waitSeconds })}`}
      </p>
      {file.cut === 0 ? null : <p className="warning-line">{t('wallets.importCut', { count: file.cut })}</p>}
      <div className="actions">
        {left === 0 ? null : (
          <Button kind="primary" isBusy={isRunning} onClick={() => void work.run()}>
            {t('wallets.importGo', { count: left })}
          </Button>
        )}
        {isRunning ? <Button onClick={work.stop}>{t('wallets.importStop')}</Button> : null}
        {entries.length === added ? null : (
          <Button icon="download" onClick={() => saveRest(entries, file)}>
            {t('wallets.importSave')}
          </Button>
        )}
      </div>
      <EntryTable entries={entries} />
    </>
  );
}

/** Saves the rows that were not added, as they are in the file, with the reason of each. */
function saveRest(entries: readonly Entry[], { header }: WalletFile): void {
  const rest = entries.filter(({ result }) => result.state !== 'added');
  const width = Math.max(...rest.map(({ row }) => row.cells.length), header?.length ?? 0);
  const padded = (cells: readonly string[]): string[] =>
    Array.from({ length: width }, (_, at) => cells[at] ?? '');
  const reasonOf = ({ row, result }: Entry): string =>
    row.problem ?? (result.state === 'failed' ? result.message : '');
  saveFile(
    'wallets-not-added.csv',
    'text/csv;charset=utf-8',
    csvText(
      [...padded(header ?? ['address', 'chain', 'label']), 'reason'],
      rest.map((entry) => [...padded(entry.row.cells), reasonOf(entry)]),
    ),
  );
}

function EntryTable({ entries }: { readonly entries: readonly Entry[] }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo((): readonly Column<Entry>[] => {
    const textOf = ({ row, result }: Entry): string =>
      row.problem !== null
        ? word('walletProblem', row.problem)
        : result.state === 'failed'
          ? result.message
          : word('walletImport', result.state);
    return [
      { id: 'line', header: t('wallets.line'), value: ({ row }) => row.line, isNumber: true },
      {
        id: 'result',
        header: t('wallets.result'),
        value: textOf,
        cell: (entry) =>
          entry.row.problem !== null || entry.result.state === 'failed' ? (
            <span className="row-problem" lang={entry.row.problem === null ? 'en' : undefined}>
              {textOf(entry)}
            </span>
          ) : (
            <span className="tag">{textOf(entry)}</span>
          ),
      },
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ row }) => row.address,
        cell: ({ row }) =>
          row.problem === null ? (
            <Address address={row.address} chain={row.chain} isLink={false} />
          ) : (
            <Name text={row.address} />
          ),
      },
      {
        id: 'chain',
        header: t('search.chain'),
        value: ({ row }) => row.chain,
        cell: ({ row }) => <Name text={row.chain} />,
      },
      {
        id: 'label',
        header: t('wallets.label'),
        value: ({ row }) => row.label,
        cell: ({ row }) => <Name text={row.label} />,
      },
    ];
  }, [t, word]);
  return (
    <DataTable
      id="import"
      caption={t('wallets.importRows')}
      columns={columns}
      rows={entries}
      rowKey={keyOf}
    />
  );
}
