/** The parts of an answer beside its graph: paths to a target, crossings of bridges, and gaps in the data. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, ChainMark } from '../../ui/Address.tsx';
import { Section } from '../../ui/Page.tsx';
import { Money, Name, ServerText } from '../../ui/values.tsx';
import { CREDITS, type TraceAnswer } from './answer.ts';

/** Shows the findings. */
export function Findings({ answer }: { readonly answer: TraceAnswer }): ReactNode {
  return (
    <>
      <Limits answer={answer} />
      <Paths answer={answer} />
      <Crossings answer={answer} />
    </>
  );
}

function Limits({ answer }: { readonly answer: TraceAnswer }): ReactNode {
  const { t, time } = useI18n();
  const { assessed, edges, coverage, stoppedAt, tracedAt } = answer;
  const isCut = stoppedAt.some(({ reason }) => reason === 'BUDGET');
  return (
    <>
      <p className="muted">{t('trace.at', { time: time(tracedAt) })}</p>
      {!assessed || edges.length === 0 ? <p className="warning-line">{t('trace.notKnown')}</p> : null}
      {assessed && coverage.graph.status !== 'COMPLETE' ? (
        <p className="warning-line">{t('trace.notComplete')}</p>
      ) : null}
      {isCut ? <p className="warning-line">{t('trace.cut')}</p> : null}
    </>
  );
}

function Paths({ answer }: { readonly answer: TraceAnswer }): ReactNode {
  const { t } = useI18n();
  const { paths, target, truncated, chain } = answer;
  if (paths === undefined || target === undefined) return null;
  return (
    <Section title={t('trace.paths')} note={t(truncated === true ? 'trace.pathsCut' : 'trace.pathsNote')}>
      {paths.length === 0 ? (
        <p>
          {t('trace.noPath')} <Address address={target} chain={chain} />
        </p>
      ) : (
        <ol className="trace-paths">
          {paths.map(({ addresses, hops, bottleneckUsd }) => (
            <li key={addresses.join(' ')}>
              <p>
                {t('trace.pathHops', { count: hops })} <Money usd={bottleneckUsd} />
              </p>
              <p className="trace-path">
                {addresses.map((address, at) => (
                  <span key={address}>
                    {at === 0 ? null : <span aria-hidden="true">→ </span>}
                    <Address address={address} chain={chain} />
                  </span>
                ))}
              </p>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

function Crossings({ answer }: { readonly answer: TraceAnswer }): ReactNode {
  const { t } = useI18n();
  const { crossChain, chain } = answer;
  if (crossChain === undefined) return null;
  return (
    <Section title={t('trace.crossings')} note={t('trace.crossingsNote')}>
      {crossChain.length === 0 ? <p>{t('trace.noCrossing')}</p> : null}
      <ul className="trace-paths">
        {crossChain.map(
          ({ bridge, bridgeAddress, address, direction, fromChain, toChain, explanation, valueUsd }) => {
            const other = direction === 'out' ? toChain : fromChain;
            return (
              <li key={`${direction} ${bridgeAddress} ${address} ${other}`}>
                <p>
                  <strong>
                    <Name text={bridge.name} />
                  </strong>{' '}
                  {fromChain === null ? '?' : <ChainMark chain={fromChain} />}{' '}
                  <span aria-hidden="true">→</span> {toChain === null ? '?' : <ChainMark chain={toChain} />}{' '}
                  <Money usd={valueUsd} />
                </p>
                <p>
                  <Address address={address} chain={chain} />
                </p>
                <p>
                  <ServerText text={explanation} />
                </p>
                {other === null ? null : (
                  <Link to={PATHS.trace} params={{ chain: other, address }}>
                    {t('trace.otherChain', { chain: other, credits: CREDITS.graph })}
                  </Link>
                )}
              </li>
            );
          },
        )}
      </ul>
    </Section>
  );
}
