/** `/addresses`: what is known about each address of a pasted list, without screening them. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useId, useMemo, useState } from 'react';
import { call } from '../api/client.ts';
import { useDraft } from '../api/drafts.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { keepList, keptList, LIST_MAX } from '../search/list.ts';
import { recognise } from '../search/recognise.ts';
import { likelyChain } from '../search/SearchForm.tsx';
import { entryOf } from '../search/table.ts';
import { Address } from '../ui/Address.tsx';
import { Button } from '../ui/Button.tsx';
import { type Column, DataTable } from '../ui/DataTable.tsx';
import { Page, Section } from '../ui/Page.tsx';
import { RiskBadge } from '../ui/RiskBadge.tsx';
import { Failure, Loading } from '../ui/states.tsx';
import { Name } from '../ui/values.tsx';

/** As long as a screening is kept. */
const KEPT_MS = 30 * 60_000;

interface Line {
  readonly text: string;
  /** Null if the text is no address of any chain. */
  readonly chain: string | null;
}

interface Result extends Line {
  readonly name: string | null;
  readonly category: string | null;
  readonly threatLevel: string | null;
  readonly source: string | null;
  readonly sanctioned: boolean;
  /** Null unless the text could not be looked up. */
  readonly problem: string | null;
}

/** Reads the labels of the lines, in their order. */
async function readLabels(lines: readonly Line[], signal: AbortSignal): Promise<readonly Result[]> {
  const asked = lines.filter(({ chain }) => chain !== null);
  const { results } =
    asked.length === 0
      ? { results: [] }
      : await call('post', '/screen/bulk', {
          signal,
          body: { addresses: asked.map(({ text, chain }) => ({ address: text, chain })) } as never,
        });
  const answers = new Map(asked.map((line, index) => [line, results[index]]));
  return lines.map((line): Result => {
    const answer = answers.get(line);
    const nothing = { name: null, category: null, threatLevel: null, source: null, sanctioned: false };
    if (answer === undefined) return { ...line, ...nothing, problem: 'NO_ADDRESS' };
    if ('error' in answer) return { ...line, ...nothing, problem: String(answer.error) };
    const [label] = answer.labels;
    return {
      ...line,
      name: label?.name ?? null,
      category: label?.category ?? null,
      threatLevel: label?.threatLevel ?? null,
      source: label?.source ?? null,
      sanctioned: answer.sanctioned,
      problem: null,
    };
  });
}

/** Gives each text the chain on which it is an address. */
async function linesOf(texts: readonly string[]): Promise<readonly Line[]> {
  const { detectChains } = await import('assay:addresses');
  return texts.map((entry) => {
    const { text, chain } = entryOf(entry, detectChains);
    const chains = detectChains(text);
    if (chain !== null && chains.includes(chain)) return { text, chain };
    return { text, chain: chains.length === 0 ? null : likelyChain(chains) };
  });
}

/** The page. */
export function AddressesPage(): ReactNode {
  const { t } = useI18n();
  const [texts, setTexts] = useState(keptList);
  const shown = texts.slice(0, LIST_MAX);
  const labels = useQuery({
    queryKey: ['labels', shown],
    queryFn: async ({ signal }) => readLabels(await linesOf(shown), signal),
    enabled: shown.length > 0,
    // Every look-up counts, so the same list is not looked up again.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEPT_MS,
  });
  return (
    <Page title={t('addresses.title')}>
      <ListForm
        onList={(next) => {
          keepList(next);
          setTexts(next);
        }}
        isOpen={texts.length === 0}
      />
      {texts.length > LIST_MAX ? (
        <p className="warning-line">
          {t('addresses.cut', { count: texts.length, shown: LIST_MAX })}{' '}
          <Link to={PATHS.bulk} search={{ list: 'pasted' } as never}>
            {t('bulk.sendList')}
          </Link>
        </p>
      ) : null}
      {shown.length === 0 ? null : (
        <Section title={t('addresses.result')} note={t('addresses.resultNote')}>
          {labels.isPending ? <Loading lines={Math.min(shown.length, 8)} /> : null}
          {labels.error === null ? null : (
            <Failure error={labels.error} onRetry={() => void labels.refetch()} />
          )}
          {labels.data === undefined ? null : <Results results={labels.data} />}
        </Section>
      )}
    </Page>
  );
}

interface ListFormProps {
  readonly onList: (texts: readonly string[]) => void;
  readonly isOpen: boolean;
}

function ListForm({ onList, isOpen }: ListFormProps): ReactNode {
  const { t } = useI18n();
  const id = useId();
  const [text, setText] = useDraft('addresses');
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const { detectChains } = await import('assay:addresses');
    const found = recognise(text, detectChains);
    onList(found.kind === 'list' ? found.texts : text.split(/\s+/).filter((part) => part !== ''));
    setText('');
  };
  // A text that was kept is shown.
  const [isKept] = useState(text !== '');
  return (
    <details className="section" open={isOpen || isKept}>
      <summary>{t('addresses.paste')}</summary>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <div className="field">
          <label htmlFor={id}>{t('addresses.label')}</label>
          <textarea
            dir="auto"
            id={id}
            className="mono"
            rows={6}
            required
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <div className="actions">
          <Button type="submit" kind="primary">
            {t('addresses.go')}
          </Button>
        </div>
      </form>
    </details>
  );
}

const resultKey = ({ text }: Result, index: number): string => `${index}:${text}`;

function Results({ results }: { readonly results: readonly Result[] }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Result>[] => [
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ text }) => text,
        cell: ({ text, chain }) => <Address address={text} chain={chain} />,
      },
      {
        id: 'chain',
        header: t('search.chain'),
        value: ({ chain }) => chain,
        hasFilter: true,
        isHidden: true,
      },
      {
        id: 'level',
        header: t('addresses.level'),
        value: ({ threatLevel }) => (threatLevel === null ? null : word('risk', threatLevel)),
        hasFilter: true,
        cell: ({ threatLevel, problem }) => (problem === null ? <RiskBadge level={threatLevel} /> : ''),
      },
      {
        id: 'name',
        header: t('addresses.name'),
        value: ({ name }) => name,
        cell: ({ name, problem, sanctioned }) => {
          if (problem !== null) return problem === 'NO_ADDRESS' ? t('addresses.noAddress') : problem;
          return (
            <>
              {name === null ? (
                <span className="not-known">{t('addresses.noLabel')}</span>
              ) : (
                <Name text={name} />
              )}
              {sanctioned ? <strong className="sanctioned"> {t('addresses.sanctioned')}</strong> : null}
            </>
          );
        },
      },
      {
        id: 'category',
        header: t('label.category'),
        value: ({ category }) => (category === null ? null : word('category', category)),
        hasFilter: true,
      },
      { id: 'source', header: t('label.source'), value: ({ source }) => source, hasFilter: true },
    ],
    [t, word],
  );
  return (
    <DataTable
      id="labels"
      caption={t('addresses.result')}
      columns={columns}
      rows={results}
      rowKey={resultKey}
    />
  );
}
