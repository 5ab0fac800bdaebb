/** `/transactions/<hash>`: the stored transfers of a transaction, the risk of both sides, and a check of a pair. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiError } from '../../api/errors.ts';
import { useI18n } from '../../i18n/index.tsx';
import { ChainMark, chainOf, TransactionHash } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { plainText } from '../../ui/plain-text.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { shorten } from '../../ui/shorten.ts';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { Name, Time } from '../../ui/values.tsx';
import { Check } from './Check.tsx';
import { type Found, levelOf, partiesOf, type Side, type Transaction, transactionQuery } from './find.ts';
import { Parties, Transfers } from './Tables.tsx';

/** The page. */
export function TransactionPage(): ReactNode {
  const { t } = useI18n();
  const { hash } = useParams({ from: '/inside/transactions/$hash' });
  const found = useQuery(transactionQuery(hash));
  const isInvalid = found.error instanceof ApiError && found.error.status === 400;
  const shown = plainText(hash);
  return (
    <Page title={`${t('transaction.title')} ${shorten(shown)}`}>
      <p>
        <TransactionHash hash={shown} />
      </p>
      {found.isLoading ? (
        <div className="section">
          <Loading lines={6} />
        </div>
      ) : null}
      {isInvalid ? (
        <Empty title={t('transaction.invalid')}>
          <p>{t('transaction.invalidHelp')}</p>
        </Empty>
      ) : null}
      {found.error === null || isInvalid ? null : (
        <Failure error={found.error} onRetry={() => void found.refetch()} />
      )}
      {found.data === undefined ? null : <Result found={found.data} />}
    </Page>
  );
}

function Result({ found }: { readonly found: Found }): ReactNode {
  const { t } = useI18n();
  const [{ chain = '' }, change] = useUrlState();
  const { transactions } = found;
  if (transactions.length === 0) return <NotStored found={found} />;
  const chosen =
    transactions.length === 1 ? transactions[0] : transactions.find((one) => one.chain === chain);
  return (
    <>
      {transactions.length === 1 ? null : (
        <Section title={t('transaction.several')} note={t('transaction.severalHelp')}>
          <div className="actions">
            {transactions.map((one) => (
              <Button
                key={one.chain}
                kind={one === chosen ? 'primary' : 'plain'}
                aria-pressed={one === chosen}
                onClick={() => change({ chain: one.chain })}
              >
                {`${chainOf(one.chain)?.name ?? one.chain}: ${t('flow.transfers', { count: one.totalTransfers })}`}
              </Button>
            ))}
          </div>
        </Section>
      )}
      {chosen === undefined ? null : <Report key={chosen.chain} transaction={chosen} />}
      <NotSearched found={found} />
    </>
  );
}

/** No transfer is stored, which says nothing about the transaction. */
function NotStored({ found }: { readonly found: Found }): ReactNode {
  const { t } = useI18n();
  return (
    <Empty title={t('transaction.none')}>
      <p>{t('transaction.noneHelp')}</p>
      {found.searched.length === 0 ? null : (
        <p>
          {t('transaction.searched')} <Chains ids={found.searched} />
        </p>
      )}
      <NotSearched found={found} />
      <p>{t('transaction.import')}</p>
    </Empty>
  );
}

function NotSearched({ found }: { readonly found: Found }): ReactNode {
  const { t, word } = useI18n();
  const reasons = [...new Set(found.notSearched.map(({ reason }) => reason))]
    // Beside a transaction that was found, chains without any transfers are no news.
    .filter((reason) => reason !== 'NO_TRANSFERS' || found.transactions.length === 0);
  if (reasons.length === 0) return null;
  return (
    <>
      {reasons.map((reason) => (
        <p key={reason} className="muted">
          {word('notSearched', reason)}{' '}
          <Chains ids={found.notSearched.filter((one) => one.reason === reason).map(({ chain }) => chain)} />
        </p>
      ))}
      {found.transactions.length > 0 || found.searched.length > 0 ? null : (
        <p className="muted">{t('transaction.nothingSearched')}</p>
      )}
    </>
  );
}

const Chains = ({ ids }: { readonly ids: readonly string[] }): ReactNode =>
  ids.map((id) => (
    <span key={id}>
      <ChainMark chain={id} />{' '}
    </span>
  ));

function Report({ transaction }: { readonly transaction: Transaction }): ReactNode {
  const { t, number } = useI18n();
  const { chain, transfers, totalTransfers, truncated, unreadTransfers, coverage } = transaction;
  const first = transfers[0];
  return (
    <>
      <Section title={t('transaction.verdict')} note={t('transaction.verdictNote')}>
        <dl className="facts">
          <Verdict transaction={transaction} side="from" />
          <Verdict transaction={transaction} side="to" />
          <div>
            <dt>{t('search.chain')}</dt>
            <dd>
              <ChainMark chain={chain} /> {chainOf(chain)?.name ?? chain}
            </dd>
          </div>
          {first === undefined ? null : (
            <>
              <div>
                <dt>{t('transfer.time')}</dt>
                <dd>
                  <Time iso={first.timestamp} />
                </dd>
              </div>
              <div>
                <dt>{t('transaction.block')}</dt>
                <dd className="number">{number(first.blockNumber)}</dd>
              </div>
            </>
          )}
          <div>
            <dt>{t('transaction.storedUntil')}</dt>
            <dd>
              <Time iso={coverage.graph.asOf} />
            </dd>
          </div>
        </dl>
      </Section>
      {unreadTransfers === 0 ? null : (
        <p className="note">{t('transaction.unread', { count: unreadTransfers })}</p>
      )}
      {truncated ? (
        <p className="note">
          {t('transaction.truncated', { shown: number(transfers.length), total: number(totalTransfers) })}
        </p>
      ) : null}
      <Transfers transaction={transaction} />
      <Parties transaction={transaction} />
      <Check transaction={transaction} />
    </>
  );
}

/** The greatest risk of one side. */
function Verdict({
  transaction,
  side,
}: {
  readonly transaction: Transaction;
  readonly side: Side;
}): ReactNode {
  const { t } = useI18n();
  const parties = partiesOf(transaction, side);
  const worst = parties[0];
  return (
    <div>
      <dt>
        {t(side === 'from' ? 'transaction.senders' : 'transaction.receivers', { count: parties.length })}
      </dt>
      <dd>
        {worst === undefined ? (
          <span className="not-known">{t('transaction.nobody')}</span>
        ) : (
          <>
            <RiskBadge level={levelOf(worst)} />{' '}
            {worst.label === null ? (
              <span className="not-known">{t('addresses.noLabel')}</span>
            ) : (
              <Name text={worst.label} />
            )}{' '}
            {parties.some(({ sanctioned }) => sanctioned) ? (
              <strong>{t('transaction.sanctioned')}</strong>
            ) : null}
          </>
        )}
      </dd>
    </div>
  );
}
