/** One report on labels, whole, and for operators the decision on it. */
import { THREAT_LEVELS } from 'assay:facts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { keepDraft, useDraft } from '../../api/drafts.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Address } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { plainText } from '../../ui/plain-text.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Failure } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { Popup, Tick } from '../manage/parts.tsx';
import { REASON_CHARS_MAX, type Report } from './list.ts';

type Body = Schemas['ReportDecisionBody'];
type Category = Report['labels'][number]['category'];

const CATEGORIES = Object.keys(THREAT_LEVELS);
/** Longest name of a party that the API takes. */
const PARTY_CHARS_MAX = 160;

/** Places of the drafts of a decision. */
const placesOf = ({ id }: Report) => ({ reason: `decide ${id}`, party: `party ${id}` });

interface ReportDialogProps {
  readonly report: Report;
  readonly isOperator: boolean;
  readonly onClose: () => void;
}

/** The dialog. It stays open after a decision, and then says what happens. */
export function ReportDialog({ report, isOperator, onClose }: ReportDialogProps): ReactNode {
  const { t } = useI18n();
  const client = useQueryClient();
  const places = placesOf(report);
  const decide = useMutation({
    mutationFn: (body: Body) =>
      call('post', '/operator/label-reports/{id}/decision', { path: { id: report.id }, body }),
    onSuccess: () => {
      keepDraft(places.reason, '');
      keepDraft(places.party, '');
      return client.invalidateQueries({ queryKey: ['label reports'] });
    },
  });
  const state = decide.data?.report.state;
  return (
    <Popup title={t('reports.one')} onClose={onClose}>
      <Facts report={report} />
      {state === undefined ? null : (
        <p className="note" role="status">
          {t(state === 'ACCEPTED' ? 'reports.accepted' : 'reports.rejected')}
        </p>
      )}
      {isOperator && report.state === 'OPEN' && state === undefined ? (
        <DecideForm
          report={report}
          error={decide.error}
          isBusy={decide.isPending}
          onDecide={(body) => decide.mutate(body)}
          onClose={onClose}
        />
      ) : (
        <div className="actions is-end">
          <Button onClick={onClose}>{t('ui.close')}</Button>
        </div>
      )}
    </Popup>
  );
}

/** A text of another person, whole. It is never markup, and its direction stays inside. */
const Words = ({ text }: { readonly text: string }): ReactNode => (
  <bdi className="whole-text">{plainText(text)}</bdi>
);

function Facts({ report }: { readonly report: Report }): ReactNode {
  const { t, word } = useI18n();
  const { chain, address, accountId, source, labels, reason, filedAt, decidedAt, note } = report;
  return (
    <dl className="facts">
      <div>
        <dt>{t('addresses.address')}</dt>
        <dd>
          <Address address={address} chain={chain} />
        </dd>
      </div>
      <div>
        <dt>{t('reports.label')}</dt>
        <dd>
          {labels.length === 0 ? t('reports.noLabel') : null}
          <ul className="reported-labels">
            {labels.map((label, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two labels may be equal, and the list does not change
              <li key={index}>
                <Name text={label.name} /> · {word('category', label.category)} · {label.source}{' '}
                <RiskBadge level={label.threatLevel} />
              </li>
            ))}
          </ul>
        </dd>
      </div>
      <div>
        <dt>{t('label.source')}</dt>
        <dd>{source ?? t('reports.allSources')}</dd>
      </div>
      {accountId === undefined ? null : (
        <div>
          <dt>{t('reports.account')}</dt>
          <dd>
            <Name text={accountId} />
          </dd>
        </div>
      )}
      <div>
        <dt>{t('reports.filed')}</dt>
        <dd>
          <Time iso={filedAt} />
        </dd>
      </div>
      <div>
        <dt>{t('home.reason')}</dt>
        <dd>
          <Words text={reason} />
        </dd>
      </div>
      {decidedAt === null ? null : (
        <div>
          <dt>{word('reportState', report.state)}</dt>
          <dd>
            <Time iso={decidedAt} />
            {note === null ? null : (
              <>
                <br />
                <Words text={note} />
              </>
            )}
          </dd>
        </div>
      )}
    </dl>
  );
}

interface DecideFormProps {
  readonly report: Report;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly onDecide: (body: Body) => void;
  readonly onClose: () => void;
}

function DecideForm({ report, error, isBusy, onDecide, onClose }: DecideFormProps): ReactNode {
  const { t, word } = useI18n();
  const id = useId();
  const [state, setState] = useState<Body['state']>('ACCEPTED');
  const [reason, setReason] = useDraft(placesOf(report).reason);
  const [category, setCategory] = useState<Category>('OTHER');
  const [name, setName] = useDraft(placesOf(report).party);
  const [corrects, setCorrects] = useState<readonly Category[]>([]);
  const published = [...new Set(report.labels.map((label) => label.category))];
  const isAccepted = state === 'ACCEPTED';
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isBusy || reason.trim() === '') return;
    onDecide({
      state,
      reason,
      ...(isAccepted ? { category, corrects: [...corrects] } : {}),
      ...(isAccepted && name.trim() !== '' ? { name } : {}),
    });
  };
  return (
    <form className="form" onSubmit={submit}>
      <Choice
        label={t('reports.decision')}
        value={state}
        options={[
          { value: 'ACCEPTED', label: t('reports.accept') },
          { value: 'REJECTED', label: t('reports.reject') },
        ]}
        onChange={(value) => setState(value as Body['state'])}
      />
      <div className="field">
        <label htmlFor={id}>{t('reports.why')}</label>
        <textarea
          dir="auto"
          id={id}
          rows={3}
          required
          maxLength={REASON_CHARS_MAX}
          aria-describedby={`${id}-hint`}
          value={reason}
          // A reason is one paragraph: the API refuses line breaks.
          onChange={(event) => setReason(event.target.value.replaceAll('\n', ' '))}
        />
        <p id={`${id}-hint`} className="muted hint">
          {t('reports.whyHint')}
        </p>
      </div>
      {isAccepted ? (
        <>
          <p className="muted">{t('reports.effect')}</p>
          <Choice
            label={t('reports.category')}
            value={category}
            options={CATEGORIES.map((value) => ({ value, label: word('category', value) }))}
            onChange={(value) => setCategory(value as Category)}
          />
          <Field
            label={t('reports.party')}
            value={name}
            maxLength={PARTY_CHARS_MAX}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
          {published.length === 0 ? null : (
            <fieldset className="ticks">
              <legend>{t('reports.corrects')}</legend>
              {published.map((one) => (
                <Tick
                  key={one}
                  label={word('category', one)}
                  checked={corrects.includes(one)}
                  onTick={(isOn) =>
                    setCorrects(published.filter((each) => (each === one ? isOn : corrects.includes(each))))
                  }
                />
              ))}
            </fieldset>
          )}
        </>
      ) : null}
      {error === null ? null : <Failure error={error} />}
      <div className="actions is-end">
        <Button onClick={onClose}>{t('ui.cancel')}</Button>
        <Button type="submit" kind="primary" isBusy={isBusy}>
          {t(isAccepted ? 'reports.accept' : 'reports.reject')}
        </Button>
      </div>
    </form>
  );
}
