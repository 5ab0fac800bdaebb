/** `/names`: names of people, organisations and vessels against sanctions lists, political exposure and adverse media. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { useFocusWhileAsking } from '../../ui/focus.ts';
import { Page, Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { isKeepable, type NewLink } from '../case/open.ts';
import { ToCase } from '../case/ToCase.tsx';
import { titleText } from '../case/title.ts';
import {
  isAsked,
  keepNames,
  keptNames,
  type NameQuery,
  type NameResult,
  type NamesAnswer,
  renewNames,
  screenNames,
} from './ask.ts';
import { Cleared } from './Cleared.tsx';
import { NameForm } from './Form.tsx';
import { MatchCard } from './MatchCard.tsx';
import { NamesCoverage } from './NamesCoverage.tsx';
import './names.css';

/** The page. */
export function NamesPage(): ReactNode {
  const { t } = useI18n();
  const [names, setNames] = useState(keptNames);
  // Names of an older day are in the form, and the person decides.
  const [isChosen, setChosen] = useState(() => isAsked(names));
  const queryKey = ['names', names] as const;
  const answer = useQuery({
    queryKey,
    queryFn: ({ signal }) => screenNames(names, signal),
    enabled: names.length > 0 && isChosen,
    // It has been paid for.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const screen = (next: readonly NameQuery[]): void => {
    keepNames(next);
    setNames(next);
    setChosen(true);
  };
  const again = (): void => {
    renewNames(names);
    void queries.resetQueries({ queryKey, exact: true });
  };
  useFocusWhileAsking(answer.isPending);
  return (
    <Page
      title={t('names.title')}
      actions={
        answer.data === undefined ? undefined : (
          <Button isBusy={answer.isFetching} onClick={again}>
            {t('names.again', { count: names.length })}
          </Button>
        )
      }
    >
      <NameForm onScreen={screen} first={names} />
      {answer.isLoading ? (
        <div className="section">
          <Loading lines={6} />
        </div>
      ) : null}
      {answer.error === null ? null : <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.data === undefined ? null : <Results queries={names} answer={answer.data} />}
      <Cleared />
    </Page>
  );
}

/** Characters of a name in a heading; the comparison has all of it. */
const TITLE_CHARS = 80;

/** A name that turns nothing around it (Unicode isolates). */
const isolated = (name: string): string => `\u2068${name.slice(0, TITLE_CHARS)}\u2069`;

/** Returns the link of a case to a screened name, with its matches. */
const linkOf = (result: NameResult, { reasons, coverage, dataVersion }: NamesAnswer): NewLink => {
  const answer = { ...result, reasons, coverage, dataVersion };
  return { type: 'NAME', name: titleText(result.name), ...(isKeepable(answer) ? { answer } : {}) };
};

interface ResultsProps {
  readonly queries: readonly NameQuery[];
  readonly answer: NamesAnswer;
}

function Results({ queries, answer }: ResultsProps): ReactNode {
  const { t } = useI18n();
  const { results, reasons, coverage } = answer;
  const isQualified = reasons.length > 0;
  return (
    <>
      {isQualified ? <p className="warning-line">{t('names.notProven')}</p> : null}
      {results.map((result, index) => (
        <Section
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of the answer is that of the request
          key={`${index} ${result.name}`}
          title={`${t('names.matchesOf', { count: result.totalMatches })}: ${isolated(result.name)}`}
          actions={
            <ToCase
              title={titleText(`${t('names.title')}: ${result.name}`)}
              help={t('names.caseHelp')}
              links={() => [linkOf(result, answer)]}
            />
          }
          note={
            result.totalMatches > result.topMatches.length
              ? t('names.best', { shown: result.topMatches.length, count: result.totalMatches })
              : undefined
          }
        >
          {result.topMatches.length === 0 ? (
            <Empty title={t(isQualified ? 'names.noneButMissing' : 'names.none')}>
              {t('names.noneHelp')}
            </Empty>
          ) : (
            <ol className="matches">
              {result.topMatches.map((match) => (
                <MatchCard
                  key={`${match.source} ${match.entityId}`}
                  query={queries[index] ?? { name: result.name }}
                  match={match}
                />
              ))}
            </ol>
          )}
        </Section>
      ))}
      <NamesCoverage coverage={coverage} dataVersion={answer.dataVersion} />
    </>
  );
}
