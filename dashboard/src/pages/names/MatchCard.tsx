/** One match: the query and the entry side by side, and why they match. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { call } from '../../api/client.ts';
import { endDraft, useDraft } from '../../api/drafts.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Source } from '../../ui/Source.tsx';
import { Failure } from '../../ui/states.tsx';
import { Name, NotKnown, Percent, Time } from '../../ui/values.tsx';
import type { Match, NameQuery } from './ask.ts';
import { clearedQuery } from './Cleared.tsx';

interface MatchProps {
  readonly query: NameQuery;
  readonly match: Match;
}

/** Shows a match. */
export function MatchCard({ query, match }: MatchProps): ReactNode {
  const { t, word, percent } = useI18n();
  const { name, confidence, source, listType, listedAt, sourceUrl, verified, weakAlias } = match;
  const list = useQuery(clearedQuery);
  // The list is newer than the answer, if it is whole.
  const cleared =
    list.data === undefined || list.data.hasMore
      ? match.cleared
      : list.data.rows.some(
          (row) =>
            row.name === query.name &&
            row.source === source &&
            row.entityId === match.entityId &&
            row.entityVersion === match.entityVersion,
        );
  return (
    <li className={cleared ? 'match is-cleared' : 'match'}>
      <div className="match-head">
        <h3>
          <Name text={name} />
        </h3>
        <span className="tag">{word('listType', listType)}</span>
        {cleared ? <span className="tag">{t('names.cleared')}</span> : null}
        {verified ? null : <span className="tag is-warning">{t('label.notVerified')}</span>}
        <span className="match-confidence">
          {t('names.confidence', { value: percent(confidence * 100) })}
        </span>
      </div>
      <p className="muted">
        <Source name={source} url={sourceUrl} /> · {t('names.listedAt')} <Time iso={listedAt} />
        {weakAlias ? ` · ${t('names.weak')}` : ''}
      </p>
      <Comparison query={query} match={match} />
      <Reasons match={match} />
      {cleared ? null : <Clear query={query} match={match} />}
    </li>
  );
}

function Comparison({ query, match }: MatchProps): ReactNode {
  const { t, word } = useI18n();
  const { matchedName, name, birthDates, countries, schema, programs } = match;
  const texts = (values: readonly string[] | undefined): ReactNode =>
    values === undefined || values.length === 0 ? <NotKnown /> : <Name text={values.join(', ')} />;
  const given = (value: ReactNode): ReactNode =>
    value ?? <span className="muted">{t('names.notGiven')}</span>;
  const rows: readonly (readonly [string, ReactNode, ReactNode])[] = [
    [
      t('names.name'),
      <Name key="query" text={query.name} />,
      <span key="entry">
        <Name text={matchedName} />
        {matchedName === name ? null : <span className="muted"> ({t('names.alias')})</span>}
      </span>,
    ],
    [t('names.birthDate'), given(query.birthDate), texts(birthDates)],
    [t('names.countries'), given(query.countries?.join(', ')), texts(countries)],
    [
      t('names.schema'),
      given(query.schema === undefined ? undefined : word('schema', query.schema)),
      word('schema', schema),
    ],
    [t('names.programs'), '', texts(programs)],
  ];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard
    <div className="table-frame" role="group" aria-label={t('names.compare')} tabIndex={0}>
      <table className="compare">
        <caption className="visually-hidden">{t('names.compare')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('names.field')}</th>
            <th scope="col">{t('names.query')}</th>
            <th scope="col">{t('names.entry')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([label, asked, listed]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{asked}</td>
              <td>{listed}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Reasons({ match }: { readonly match: Match }): ReactNode {
  const { t } = useI18n();
  return (
    <details open>
      <summary>{t('names.why')}</summary>
      <ul className="match-reasons">
        {match.explanation.map(({ kind, asked, listed, similarity, message }) => (
          <li key={`${kind} ${asked} ${listed}`}>
            <span className="match-parts">
              {asked === null ? null : <Name text={asked} />}
              {asked !== null && listed !== null ? <span aria-hidden="true"> ↔ </span> : null}
              {listed === null ? null : <Name text={listed} />}
            </span>
            <span lang="en">
              <Name text={message} />
            </span>
            {similarity === null ? null : <Percent value={similarity * 100} />}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The most characters of a note. */
const NOTE_MAX = 1_000;

function Clear({ query, match }: MatchProps): ReactNode {
  const { t } = useI18n();
  const id = useId();
  const queries = useQueryClient();
  const place = `clear ${match.source} ${match.entityId} ${JSON.stringify(query)}`;
  const [note, setNote] = useDraft(place);
  // A text that was kept is shown.
  const [isOpen] = useState(note !== '');
  const clear = useMutation({
    mutationFn: () =>
      call('post', '/namescreen/cleared', {
        body: {
          ...query,
          source: match.source,
          entityId: match.entityId,
          ...(note.trim() === '' ? {} : { note: note.trim() }),
        },
      }),
    onSuccess: () => {
      endDraft(place, note);
      return queries.invalidateQueries({ queryKey: clearedQuery.queryKey });
    },
  });
  return (
    <details className="only-screen" open={isOpen}>
      <summary>{t('names.clear')}</summary>
      <div className="form">
        <p className="muted">{t('names.clearHelp')}</p>
        <div className="field">
          <label htmlFor={id}>{t('names.clearNote')}</label>
          <textarea
            dir="auto"
            id={id}
            rows={2}
            maxLength={NOTE_MAX}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </div>
        <div className="actions">
          <Button kind="primary" isBusy={clear.isPending} onClick={() => clear.mutate()}>
            {t('names.clearGo')}
          </Button>
        </div>
        {clear.error === null ? null : <Failure error={clear.error} />}
      </div>
    </details>
  );
}
