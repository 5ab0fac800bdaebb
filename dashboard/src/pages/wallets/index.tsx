/** `/wallets`: the watched wallets of the account, and the ways to add more. */
import { CHAINS } from 'assay:chains';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import { call } from '../../api/client.ts';
import { patiently } from '../../api/patience.ts';
import { newKey } from '../../api/repeat-key.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, chainOf } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { More } from '../../ui/More.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { usePages } from '../../ui/pages.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { type Search, useUrlState } from '../../ui/url-state.ts';
import { Name, NotKnown, Time } from '../../ui/values.tsx';
import { addWallet, type Wallet } from './add.ts';
import { ImportWallets } from './Import.tsx';
import { LabelField, SettingFields, type Settings, STANDARD_SETTINGS } from './Rules.tsx';
import { LABEL_CHARS_MAX } from './wallet-csv.ts';
import './wallets.css';

/** The most wallets that one response has. */
const ROWS = 1_000;

const keyOf = ({ id }: Wallet): string => id;

/** The page. */
export function WalletsPage(): ReactNode {
  const { t } = useI18n();
  const [search, change] = useUrlState();
  const withDeleted = search.deleted === 'yes';
  const pages = usePages(['wallets', withDeleted], (cursor, signal) =>
    patiently(
      () =>
        call('get', '/monitoring/wallets', {
          query: { limit: ROWS, includeDeleted: withDeleted, ...cursor } as never,
          signal,
        }),
      { signal },
    ),
  );
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.wallets) ?? [], [pages.data]);
  return (
    <Page title={t('wallets.title')}>
      <NotFollowedWallets wallets={rows} />
      <AddForm key={`${search.chain} ${search.address}`} search={search} />
      <ImportWallets />
      <Section
        title={t('wallets.list')}
        actions={
          <label className="check">
            <input
              type="checkbox"
              checked={withDeleted}
              onChange={() => change({ deleted: withDeleted ? '' : 'yes' })}
            />
            {t('wallets.withDeleted')}
          </label>
        }
      >
        {pages.isPending ? <Loading lines={6} /> : null}
        {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
        {pages.data === undefined ? null : <WalletTable rows={rows} />}
        <More pages={pages} />
      </Section>
    </Page>
  );
}

/** Says which chains of active wallets are not followed. Their wallets raise no alerts. */
function NotFollowedWallets({ wallets }: { readonly wallets: readonly Wallet[] }): ReactNode {
  const { t, list } = useI18n();
  const chains = new Set(
    wallets.filter(({ status, following }) => status === 'ACTIVE' && !following).map(({ chain }) => chain),
  );
  if (chains.size === 0) return null;
  const names = [...chains].map((chain) => chainOf(chain)?.name ?? chain);
  return (
    <p className="warning-line">{t('wallets.notFollowed', { chains: list(names), count: chains.size })}</p>
  );
}

/** The form for one wallet. A screening leads here with its address in the URL. */
function AddForm({ search }: { readonly search: Search }): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const { address: firstAddress = '', chain: firstChain = 'ETH', label: firstLabel = '' } = search;
  const [address, setAddress] = useState(firstAddress);
  const [chain, setChain] = useState(
    CHAINS.some(({ id, monitored }) => id === firstChain && monitored) ? firstChain : 'ETH',
  );
  const [label, setLabel] = useState(firstLabel.slice(0, LABEL_CHARS_MAX));
  const [settings, setSettings] = useState<Settings>(STANDARD_SETTINGS);
  // The same request has the same key, also after a response was lost: it is charged once.
  const sent = useRef({ text: '', key: '' });
  const add = useMutation({
    mutationFn: () => {
      const { notes, customWebhookUrl, ...rules } = settings;
      const body = {
        walletAddress: address.trim(),
        chain,
        ...rules,
        ...(label.trim() === '' ? {} : { label: label.trim() }),
        ...(notes.trim() === '' ? {} : { notes }),
        ...(customWebhookUrl.trim() === '' ? {} : { customWebhookUrl: customWebhookUrl.trim() }),
      };
      const text = JSON.stringify(body);
      if (sent.current.text !== text) sent.current = { text, key: newKey() };
      return addWallet(body as never, sent.current.key);
    },
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['wallets'] });
      void navigate({ to: PATHS.wallet, params: { id } });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <details className="section" open={firstAddress !== ''}>
      <summary>{t('wallets.add')}</summary>
      <p className="muted">{t('wallets.addNote')}</p>
      <form className="form" onSubmit={submit}>
        <div className="inline-form">
          <Choice
            label={t('search.chain')}
            value={chain}
            options={CHAINS.filter(({ monitored }) => monitored).map(({ id, name }) => ({
              value: id,
              label: name,
            }))}
            onChange={setChain}
          />
          <Field
            label={t('addresses.address')}
            value={address}
            required
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => setAddress(event.target.value)}
          />
          <LabelField label={label} onChange={setLabel} />
        </div>
        <SettingFields settings={settings} onChange={setSettings} />
        <div className="actions">
          <Button type="submit" kind="primary" isBusy={add.isPending}>
            {t('wallets.addGo')}
          </Button>
        </div>
      </form>
      {add.error === null ? null : <Failure error={add.error} />}
    </details>
  );
}

function WalletTable({ rows }: { readonly rows: readonly Wallet[] }): ReactNode {
  const { t, word } = useI18n();
  const navigate = useNavigate();
  const columns = useMemo(
    (): readonly Column<Wallet>[] => [
      {
        id: 'label',
        header: t('wallets.label'),
        value: ({ label }) => label,
        cell: ({ id, label }) => (
          <Link to={PATHS.wallet} params={{ id }}>
            {label === null ? t('wallets.noLabel') : <Name text={label} />}
          </Link>
        ),
      },
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ walletAddress }) => walletAddress,
        cell: ({ walletAddress, chain }) => <Address address={walletAddress} chain={chain} />,
      },
      {
        id: 'chain',
        header: t('search.chain'),
        value: ({ chain }) => chain,
        hasFilter: true,
        isHidden: true,
      },
      {
        id: 'status',
        header: t('alerts.status'),
        value: ({ status }) => word('walletStatus', status),
        hasFilter: true,
        cell: ({ status }) => <span className="tag">{word('walletStatus', status)}</span>,
      },
      {
        id: 'following',
        header: t('wallets.following'),
        value: (wallet) => word('following', followingOf(wallet)),
        hasFilter: true,
        cell: (wallet) => <Following wallet={wallet} />,
      },
      {
        id: 'level',
        header: t('wallets.risk'),
        value: ({ assessed, riskLevel }) => (assessed && riskLevel !== null ? word('risk', riskLevel) : null),
        hasFilter: true,
        cell: (wallet) => <WalletRisk wallet={wallet} />,
      },
      {
        id: 'screened',
        header: t('wallets.screened'),
        value: ({ screenedAt }) => screenedAt,
        cell: ({ screenedAt }) => <Time iso={screenedAt} />,
      },
      {
        id: 'threshold',
        header: t('wallets.threshold'),
        value: ({ alertThreshold }) => word('threshold', alertThreshold),
        isHidden: true,
      },
      {
        id: 'created',
        header: t('wallets.created'),
        value: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => <Time iso={createdAt} />,
        isHidden: true,
      },
    ],
    [t, word],
  );
  return (
    <DataTable
      id="wallets"
      caption={t('wallets.title')}
      columns={columns}
      rows={rows}
      rowKey={keyOf}
      onOpen={({ id }) => void navigate({ to: PATHS.wallet, params: { id } })}
      empty={<Empty title={t('wallets.none')}>{t('wallets.noneHelp')}</Empty>}
    />
  );
}

/** Whether a wallet is followed: `PAUSED` and `DELETED` ones are not, by choice. */
const followingOf = ({ status, following }: Wallet): 'YES' | 'NO' | 'OFF' =>
  following ? 'YES' : status === 'ACTIVE' ? 'NO' : 'OFF';

/** Shows whether transfers of a wallet are seen at the moment. */
export function Following({ wallet }: { readonly wallet: Wallet }): ReactNode {
  const { word } = useI18n();
  const state = followingOf(wallet);
  return (
    <span className={state === 'NO' ? 'tag is-warning' : 'tag'} title={wallet.reason ?? undefined}>
      {word('following', state)}
    </span>
  );
}

/** The level of the last screening. A wallet of which nothing is known has none. */
export function WalletRisk({ wallet }: { readonly wallet: Wallet }): ReactNode {
  const { assessed, riskLevel, riskScore } = wallet;
  if (riskLevel === null) return <NotKnown />;
  if (!assessed) return <RiskBadge level="UNKNOWN" />;
  return <RiskBadge level={riskLevel} {...(riskScore === null ? {} : { score: riskScore })} />;
}
