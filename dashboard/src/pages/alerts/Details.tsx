/** One alert of the inbox: what was found, what a person does about it, and its history. */

import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { ALERT_STATUSES } from '../../api/choices.ts';
import { endDraft, useDraft } from '../../api/drafts.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, TransactionHash } from '../../ui/Address.tsx';
import { amountText } from '../../ui/amount.ts';
import { Button, IconButton } from '../../ui/Button.tsx';
import { Field } from '../../ui/Field.tsx';
import { plainLines, plainText } from '../../ui/plain-text.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Money, Name, NotKnown, ServerText, Time } from '../../ui/values.tsx';
import { Who } from '../../ui/Who.tsx';
import { AddToCase } from '../case/ToCase.tsx';
import type { AlertChange } from './actions.ts';
import type { Alert } from './inbox.ts';

/** Limits of the API (`AlertPatch`). */
export const NOTE_CHARS_MAX = 500;
export const ASSIGNEE_CHARS_MAX = 128;

interface DetailsProps {
  readonly alert: Alert;
  readonly ownName: string | null;
  readonly isBusy: boolean;
  /** Returns whether the alert was changed. */
  readonly onChange: (change: AlertChange) => Promise<boolean>;
  readonly onCase: () => void;
  readonly onClose: () => void;
}

/** Shows the alert. */
export function Details({ alert, ownName, isBusy, onChange, onCase, onClose }: DetailsProps): ReactNode {
  const { t, word } = useI18n();
  return (
    <aside className="section alert-details" aria-labelledby="alert-heading">
      <div className="section-header">
        <h2 id="alert-heading" lang="en">
          <Name text={alert.title} />
        </h2>
        <IconButton icon="close" name={t('ui.close')} onClick={onClose} />
      </div>
      <div className="actions">
        <RiskBadge level={alert.severity} />
        <span className="tag">{word('alertStatus', alert.status)}</span>
        <span className="tag">{alert.ruleId}</span>
        {alert.final ? null : (
          <span className="tag">{t(alert.reorged ? 'alerts.reorged' : 'alerts.notFinal')}</span>
        )}
      </div>
      <p>
        <ServerText text={alert.message} />
      </p>
      <div className="actions">
        {ALERT_STATUSES.filter((status) => status !== alert.status).map((status) => (
          <Button key={status} isBusy={isBusy} onClick={() => void onChange({ status })}>
            {t('alerts.moveTo', { status: word('alertStatus', status) })}
          </Button>
        ))}
        <Button isBusy={isBusy} onClick={onCase}>
          {t('alerts.case')}
        </Button>
        <AddToCase help={t('alerts.caseHelp')} links={() => [{ type: 'ALERT', id: alert.id }]} />
      </div>
      <Facts alert={alert} />
      <AssigneeForm
        key={`assignee ${alert.id} ${alert.assignee}`}
        {...{ alert, ownName, isBusy, onChange }}
      />
      <NoteForm key={`note ${alert.id}`} {...{ alert, isBusy, onChange }} />
      <History alert={alert} />
      <p>
        <Link to={PATHS.deliveries} search={{ alert: alert.id } as never}>
          {t('alerts.deliveriesOf')}
        </Link>
      </p>
    </aside>
  );
}

function Facts({ alert }: { readonly alert: Alert }): ReactNode {
  const { t, word } = useI18n();
  const { wallet, transaction } = alert;
  return (
    <dl className="facts">
      <div>
        <dt>{t('alerts.wallet')}</dt>
        <dd>
          {wallet.label === null ? null : (
            <>
              <Name text={wallet.label} />
              <br />
            </>
          )}
          <Address address={wallet.walletAddress} chain={wallet.chain} />
          <br />
          <Link to={PATHS.wallet} params={{ id: alert.walletId }}>
            {t('alerts.toWallet')}
          </Link>
        </dd>
      </div>
      {transaction === null ? null : (
        <>
          <div>
            <dt>{t(transaction.direction === 'in' ? 'alerts.from' : 'alerts.to')}</dt>
            <dd>
              {transaction.counterparty.entity === null ? null : (
                <>
                  <Name text={transaction.counterparty.entity.name} />
                  <br />
                </>
              )}
              {transaction.counterparty.address === null ? (
                <NotKnown />
              ) : (
                <Address address={transaction.counterparty.address} chain={wallet.chain} />
              )}
            </dd>
          </div>
          <div>
            <dt>{t('transfer.amount')}</dt>
            <dd>
              {amountText(transaction.amount)} <Name text={transaction.asset} />
              <br />
              <Money usd={transaction.amountUsd} />
            </dd>
          </div>
          <div>
            <dt>{t('transfer.hash')}</dt>
            <dd>
              <TransactionHash hash={transaction.hash} />
              <br />
              <Time iso={transaction.timestamp} />
            </dd>
          </div>
        </>
      )}
      {alert.category === null ? null : (
        <div>
          <dt>{t('label.category')}</dt>
          <dd>{word('category', alert.category)}</dd>
        </div>
      )}
    </dl>
  );
}

type FormProps = Pick<DetailsProps, 'alert' | 'ownName' | 'isBusy' | 'onChange'>;

function AssigneeForm({ alert, ownName, isBusy, onChange }: FormProps): ReactNode {
  const { t } = useI18n();
  const [text, setText] = useState(alert.assignee ?? '');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void onChange({ assignee: text.trim() === '' ? null : text.trim() });
  };
  return (
    <form className="inline-form only-screen" onSubmit={submit}>
      <Field
        label={t('alerts.assignee')}
        value={text}
        maxLength={ASSIGNEE_CHARS_MAX}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" isBusy={isBusy}>
        {t('alerts.assign')}
      </Button>
      {ownName === null || alert.assignee === ownName ? null : (
        <Button isBusy={isBusy} onClick={() => void onChange({ assignee: ownName })}>
          {t('alerts.assignMe')}
        </Button>
      )}
    </form>
  );
}

/** The note stays while others change the alert, and until it is in the history. */
function NoteForm({
  alert,
  isBusy,
  onChange,
}: Pick<DetailsProps, 'alert' | 'isBusy' | 'onChange'>): ReactNode {
  const { t } = useI18n();
  const place = `alert ${alert.id}`;
  const [note, setNote] = useDraft(place);
  const [sent, setSent] = useState<{ readonly note: string; readonly after: number } | null>(null);
  const isStored = sent !== null && alert.history.slice(sent.after).some((event) => event.note === sent.note);
  // The stream may bring the note although its response was lost.
  useEffect(() => {
    if (sent !== null && isStored) endDraft(place, sent.note);
  }, [sent, isStored, place]);
  const submit = async (): Promise<void> => {
    if (note.trim() === '') return;
    setSent({ note, after: alert.history.length });
    // The person may have opened another alert meanwhile.
    if (await onChange({ note })) endDraft(place, note);
  };
  return (
    <form
      className="inline-form only-screen"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field
        label={t('alerts.note')}
        value={note}
        required
        maxLength={NOTE_CHARS_MAX}
        autoComplete="off"
        onChange={(event) => setNote(event.target.value)}
      />
      <Button type="submit" isBusy={isBusy}>
        {t('alerts.addNote')}
      </Button>
    </form>
  );
}

/** The history, newest first. */
function History({ alert }: { readonly alert: Alert }): ReactNode {
  const { t, word } = useI18n();
  return (
    <>
      <h3>{t('alerts.history')}</h3>
      <ol className="time-line">
        {alert.history.toReversed().map(({ at, kind, status, by, note, assignee }) => (
          <li key={`${at} ${kind} ${status} ${note}`}>
            <p className="muted">
              <Time iso={at} /> {by === null ? '' : <Who id={by} />}
            </p>
            <p>
              {kind === 'STATUS'
                ? t('alerts.moved', { status: word('alertStatus', status) })
                : kind === 'ASSIGNEE'
                  ? t('alerts.assigned', {
                      name: plainText(assignee ?? t('alerts.nobody')),
                    })
                  : word('alertEvent', kind)}
            </p>
            {note === null ? null : (
              <p className="note-text">
                <bdi>{plainLines(note)}</bdi>
              </p>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}
