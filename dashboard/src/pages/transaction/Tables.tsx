/** The transfers of a transaction, and its parties. */
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address } from '../../ui/Address.tsx';
import { amountText } from '../../ui/amount.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { plainText } from '../../ui/plain-text.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Money, Name } from '../../ui/values.tsx';
import { levelOf, type Party, type Transaction, type Transfer } from './find.ts';

const transferKey = ({ position }: Transfer, index: number): string => `${position} ${index}`;
const partyKey = ({ address }: Party): string => address;

/** Shows the transfers. */
export function Transfers({ transaction }: { readonly transaction: Transaction }): ReactNode {
  const { t } = useI18n();
  const { chain, transfers } = transaction;
  const columns = useMemo((): readonly Column<Transfer>[] => {
    const side = (address: string | null): ReactNode =>
      address === null ? (
        <span className="not-known">{t('transaction.nobody')}</span>
      ) : (
        <Address address={address} chain={chain} />
      );
    return [
      {
        id: 'from',
        header: t('transaction.from'),
        value: ({ from }) => from,
        cell: ({ from }) => side(from),
      },
      { id: 'to', header: t('transaction.to'), value: ({ to }) => to, cell: ({ to }) => side(to) },
      {
        id: 'amount',
        header: t('transfer.amount'),
        value: ({ amount }) => Number(amount),
        isNumber: true,
        cell: ({ amount, asset }) => (
          <span className="number">
            {amountText(amount)} <bdi title={plainText(asset)}>{plainText(asset)}</bdi>
          </span>
        ),
      },
      {
        id: 'usd',
        header: 'USD',
        value: ({ valueUsd }) => valueUsd,
        isNumber: true,
        cell: ({ valueUsd }) => <Money usd={valueUsd} />,
      },
      {
        id: 'evidence',
        header: t('transaction.evidence'),
        value: ({ evidence }) => t(evidence ? 'transaction.evidenceYes' : 'transaction.evidenceNo'),
        hasFilter: true,
      },
      { id: 'position', header: t('transaction.position'), value: ({ position }) => plainText(position) },
    ];
  }, [t, chain]);
  return (
    <Section title={t('transaction.transfers')}>
      <DataTable
        id="transfers"
        caption={t('transaction.transfers')}
        columns={columns}
        rows={transfers}
        rowKey={transferKey}
      />
    </Section>
  );
}

/** Shows the parties, with what can be done about each. */
export function Parties({ transaction }: { readonly transaction: Transaction }): ReactNode {
  const { t, word } = useI18n();
  const { chain, parties } = transaction;
  const columns = useMemo(
    (): readonly Column<Party>[] => [
      {
        id: 'risk',
        header: t('transaction.risk'),
        value: (party) => word('risk', levelOf(party)),
        hasFilter: true,
        cell: (party) => <RiskBadge level={levelOf(party)} />,
      },
      {
        id: 'address',
        header: t('transaction.address'),
        value: ({ address }) => address,
        cell: ({ address }) => <Address address={address} chain={chain} />,
      },
      {
        id: 'label',
        header: t('screening.entity'),
        value: ({ label }) => label,
        cell: ({ label, sanctioned }) =>
          label === null ? (
            <span className="not-known">{t('addresses.noLabel')}</span>
          ) : (
            <>
              <Name text={label} /> {sanctioned ? <strong>{t('transaction.sanctioned')}</strong> : null}
            </>
          ),
      },
      {
        id: 'category',
        header: t('label.category'),
        value: ({ category }) => word('category', category),
        hasFilter: true,
      },
      {
        id: 'trace',
        header: t('transaction.next'),
        value: () => null,
        cell: ({ address }) => (
          <Link to={PATHS.trace} params={{ chain, address }}>
            {t('transaction.trace')}
          </Link>
        ),
      },
    ],
    [t, word, chain],
  );
  return (
    <Section title={t('transaction.parties')}>
      <DataTable
        id="parties"
        caption={t('transaction.parties')}
        columns={columns}
        rows={parties}
        rowKey={partyKey}
      />
    </Section>
  );
}
