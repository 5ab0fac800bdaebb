/** The filters of the inbox, whether it is live, and the chains on which no alert can be raised. */

import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import type { StreamState } from '../../api/alert-stream.ts';
import { ALERT_STATUSES, SEVERITIES } from '../../api/choices.ts';
import { useI18n } from '../../i18n/index.tsx';
import { chainOf } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import type { Search } from '../../ui/url-state.ts';
import type { NotFollowed } from './inbox.ts';

interface AlertFiltersProps {
  readonly search: Search;
  readonly onChange: (search: Search) => void;
  readonly count: number | null;
}

/** The filters. */
export function AlertFilters({ search, onChange, count }: AlertFiltersProps): ReactNode {
  const { t, word } = useI18n();
  const { status = '', severity = '', address = '', wallet = '' } = search;
  const [text, setText] = useState(address);
  useEffect(() => setText(address), [address]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChange({ address: text.trim() });
  };
  return (
    <search>
      <form className="inline-form" onSubmit={submit}>
        <Choice
          label={t('alerts.status')}
          value={status}
          options={[
            { value: '', label: t('table.all') },
            ...ALERT_STATUSES.map((value) => ({ value, label: word('alertStatus', value) })),
          ]}
          onChange={(value) => onChange({ status: value })}
        />
        <Choice
          label={t('alerts.severity')}
          value={severity}
          options={[
            { value: '', label: t('table.all') },
            ...SEVERITIES.map((value) => ({ value, label: word('risk', value) })),
          ]}
          onChange={(value) => onChange({ severity: value })}
        />
        <Field
          label={t('alerts.address')}
          value={text}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit">{t('alerts.filter')}</Button>
        {wallet === '' ? null : (
          <Button kind="quiet" icon="close" onClick={() => onChange({ wallet: '' })}>
            {t('alerts.oneWallet')}
          </Button>
        )}
        <span className="muted table-count" aria-live="polite">
          {count === null ? '' : t('alerts.count', { count })}
        </span>
      </form>
    </search>
  );
}

/** Says whether new alerts appear by themselves. */
export function StreamMark({ state }: { readonly state: StreamState }): ReactNode {
  const { t } = useI18n();
  const text =
    state === 'live' ? t('alerts.live') : state === 'down' ? t('alerts.down') : t('alerts.connecting');
  return (
    <span role="status" className={state === 'down' ? 'tag is-warning' : 'tag'}>
      {text}
    </span>
  );
}

/** Says on which chains nothing is seen, and why. */
export function NotFollowedChains({ chains }: { readonly chains: readonly NotFollowed[] }): ReactNode {
  const { t } = useI18n();
  if (chains.length === 0) return null;
  return (
    <ul className="warning-line" aria-label={t('alerts.notFollowed')}>
      {chains.map(({ chain, reason, followedTo }) => (
        <li key={chain}>
          <strong>{t('alerts.chainNotFollowed', { chain: chainOf(chain)?.name ?? chain })}</strong>{' '}
          {reason === null ? null : <span lang="en">{reason}</span>}{' '}
          {followedTo === null ? null : t('alerts.followedTo', { height: followedTo })}
        </li>
      ))}
    </ul>
  );
}
