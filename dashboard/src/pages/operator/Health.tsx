/** Health checks: their subject, result and remedy. */
import './operator.css';
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Section } from '../../ui/Page.tsx';
import { ServerText, Time } from '../../ui/values.tsx';
import { Fact, type OperatorStatus, State } from './parts.tsx';

/** Failures first. */
const ORDER = ['FAILED', 'WARNING', 'OK'];

/** The tab. */
export function Health({ status }: { readonly status: OperatorStatus }): ReactNode {
  const { t, word } = useI18n();
  const { checks, ready, at, version } = status;
  const rows = useMemo(
    () => [...checks].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state)),
    [checks],
  );
  const isGood = checks.every(({ state }) => state === 'OK');
  const key = !ready ? 'status.notReady' : isGood ? 'status.ready' : 'operator.readyWithWarnings';
  return (
    <Section title={t('operator.health')} note={t('operator.healthNote')}>
      <p className={isGood ? 'status-line' : 'status-line warning-line'}>
        <Icon name={isGood ? 'check' : 'warning'} />
        {t(key)}
      </p>
      <ul className="checks">
        {rows.map(({ check, state, reasons }) => (
          <li key={check}>
            <div className="check-name">
              <strong>{word('operatorCheck', check)}</strong>
              <State word={word('operatorState', state)} isGood={state === 'OK'} />
            </div>
            {reasons.length === 0 ? null : (
              <ul className="reasons">
                {reasons.map((reason) => (
                  <li key={reason}>
                    <ServerText text={reason} />
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      <dl className="facts">
        <Fact name={t('status.at')}>
          <Time iso={at} />
        </Fact>
        <Fact name={t('operator.program')}>{version}</Fact>
      </dl>
    </Section>
  );
}
