/** The check of a sender and a receiver of the transaction (POST /kyt). It costs a credit, so the person decides. */
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { forgetKey, keyFor } from '../../api/repeat-key.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { shorten } from '../../ui/shorten.ts';
import { Failure } from '../../ui/states.tsx';
import { ServerText } from '../../ui/values.tsx';
import { pairsOf, type Transaction } from './find.ts';

/** Shows the form, and the result below it. */
export function Check({ transaction }: { readonly transaction: Transaction }): ReactNode {
  const { t } = useI18n();
  const pairs = useMemo(() => pairsOf(transaction), [transaction]);
  const [chosen, setChosen] = useState('0');
  const check = useMutation({
    mutationFn: async () => {
      const pair = pairs[Number(chosen)];
      if (pair === undefined) throw new Error('no pair');
      const body = { ...pair, chain: transaction.chain };
      // If a response is lost, the next press is not charged again. After an answer, it asks for a new decision.
      const decision = await call('post', '/kyt', {
        body: body as never,
        idempotencyKey: keyFor('kyt', body),
      });
      forgetKey('kyt', body);
      return decision;
    },
  });
  if (pairs.length === 0) return null;
  return (
    <Section title={t('transaction.check')} note={t('transaction.checkNote')}>
      <div className="inline-form only-screen">
        <Choice
          label={t('transaction.pair')}
          value={chosen}
          options={pairs.map(({ from, to }, at) => ({
            value: String(at),
            label: `${shorten(from)} → ${shorten(to)}`,
          }))}
          onChange={(next) => {
            setChosen(next);
            check.reset();
          }}
        />
        <Button kind="primary" isBusy={check.isPending} onClick={() => check.mutate()}>
          {t('transaction.checkGo')}
        </Button>
      </div>
      {check.error === null ? null : <Failure error={check.error} />}
      {check.data === undefined ? null : <Decision data={check.data as Schemas['KytResult']} />}
    </Section>
  );
}

function Decision({ data }: { readonly data: Schemas['KytResult'] }): ReactNode {
  const { t, word } = useI18n();
  return (
    <div role="status">
      <p>
        <strong>{word('kytDecision', data.decision)}</strong>{' '}
        <RiskBadge level={data.riskLevel} score={data.riskScore} />
      </p>
      {data.flags.length === 0 ? (
        <p className="muted">{t('transaction.noFlags')}</p>
      ) : (
        <ul className="bullets">
          {data.flags.map(({ code, party, severity, message }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: flags have no id, and their order is that of the answer
            <li key={`${code} ${party} ${at}`}>
              <RiskBadge level={severity} /> <ServerText text={message} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
