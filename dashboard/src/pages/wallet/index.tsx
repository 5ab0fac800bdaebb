/** `/wallets/{id}`: one watched wallet, its settings, and what has happened to it. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { patiently } from '../../api/patience.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, shorten } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Failure, Loading, Stored } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { Following, WalletRisk } from '../wallets/index.tsx';
import { LabelField, SettingFields, type Settings } from '../wallets/Rules.tsx';
import { WalletAlerts, WalletTransactions } from './History.tsx';

type Wallet = Schemas['WalletDetail']['wallet'];
type Patch = Schemas['WalletPatch'];

/** Changes a wallet, and shows what the response says. */
function useChange(id: string) {
  return useMutation({
    mutationFn: async (body: Patch | 'remove') =>
      (body === 'remove'
        ? await call('delete', '/monitoring/wallets/{id}', { path: { id } })
        : await call('patch', '/monitoring/wallets/{id}', { path: { id }, body })
      ).wallet,
    onSuccess: (wallet) => {
      queries.setQueryData(['wallet', id], wallet);
      return queries.invalidateQueries({ queryKey: ['wallets'] });
    },
  });
}

/** Changes when the form of the settings has to begin again. A pause does not change it, so nothing that a person is entering is lost. */
const settingsKey = (wallet: Wallet): string =>
  JSON.stringify([
    wallet.label,
    wallet.enabledRules,
    wallet.alertThreshold,
    wallet.alertFrequency,
    wallet.customWebhookUrl,
    wallet.notes,
  ]);

/** The page. */
export function WalletPage(): ReactNode {
  const { t } = useI18n();
  const { id } = useParams({ from: `/inside${PATHS.wallet}` });
  const answer = useQuery({
    queryKey: ['wallet', id],
    queryFn: async ({ signal }) =>
      (await patiently(() => call('get', '/monitoring/wallets/{id}', { path: { id }, signal }), { signal }))
        .wallet,
  });
  const change = useChange(id);
  const wallet = answer.data;
  return (
    <Page
      title={wallet === undefined ? t('wallets.one') : `${t('wallets.one')} ${shorten(wallet.walletAddress)}`}
      heading={
        wallet === undefined ? undefined : (
          <Address address={wallet.walletAddress} chain={wallet.chain} isFull />
        )
      }
      actions={
        <>
          <Link to={PATHS.wallets} className="button plain">
            {t('wallets.title')}
          </Link>
          {wallet === undefined ? null : <Actions wallet={wallet} change={change} />}
        </>
      }
    >
      {answer.isPending ? <Loading lines={8} /> : null}
      {answer.error === null ? null : <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {change.error === null ? null : <Failure error={change.error} />}
      {wallet === undefined ? null : (
        <>
          <Facts wallet={wallet} />
          {wallet.status === 'DELETED' ? null : (
            <Section title={t('wallets.settings')}>
              <SettingsForm key={settingsKey(wallet)} wallet={wallet} change={change} />
              <Stored isStored={change.isSuccess && isOfSettings(change.variables)} />
            </Section>
          )}
          <WalletAlerts id={id} count={wallet.alertCount} />
          <WalletTransactions id={id} chain={wallet.chain} />
        </>
      )}
    </Page>
  );
}

/** Whether a change is one of the settings, not a pause or a deletion. */
const isOfSettings = (body: Patch | 'remove'): boolean =>
  body !== 'remove' && body.enabledRules !== undefined;

interface ChangeProps {
  readonly wallet: Wallet;
  readonly change: ReturnType<typeof useChange>;
}

function Actions({ wallet, change }: ChangeProps): ReactNode {
  const { t } = useI18n();
  const isBusy = change.isPending;
  if (wallet.status === 'DELETED')
    return (
      <Button isBusy={isBusy} onClick={() => change.mutate({ action: 'restore' })}>
        {t('wallets.restore')}
      </Button>
    );
  return (
    <>
      {wallet.status === 'ACTIVE' ? (
        <Confirm
          label={t('wallets.pause')}
          title={t('wallets.pauseTitle')}
          text={t('wallets.pauseHelp')}
          isBusy={isBusy}
          onConfirm={() => change.mutate({ status: 'PAUSED' })}
        />
      ) : (
        <Button isBusy={isBusy} onClick={() => change.mutate({ status: 'ACTIVE' })}>
          {t('wallets.resume')}
        </Button>
      )}
      <TestMessage id={wallet.id} />
      <Confirm
        label={t('wallets.remove')}
        title={t('wallets.removeTitle')}
        text={t('wallets.removeHelp')}
        isBusy={isBusy}
        onConfirm={() => change.mutate('remove')}
      />
    </>
  );
}

/** Sends a test message to the webhook of the wallet and every channel of the account. */
function TestMessage({ id }: { readonly id: string }): ReactNode {
  const { t } = useI18n();
  const test = useMutation({
    mutationFn: async () =>
      (await call('post', '/monitoring/wallets/{id}/test', { path: { id } })).deliveries.length,
  });
  return (
    <Confirm
      label={t('wallets.test')}
      title={t('wallets.testTitle')}
      text={t('wallets.testHelp')}
      done={t('wallets.testDone', { count: test.data ?? 0 })}
      error={test.error}
      isBusy={test.isPending}
      isDone={test.isSuccess}
      onOpen={test.reset}
      onConfirm={() => test.mutate()}
    />
  );
}

function Facts({ wallet }: { readonly wallet: Wallet }): ReactNode {
  const { t, word } = useI18n();
  const { status, following, reason, followedTo } = wallet;
  return (
    <Section title={t('wallets.state')}>
      {status === 'ACTIVE' && !following ? (
        <p className="warning-line">
          <strong>{t('wallets.notSeen')}</strong> {reason === null ? null : <span lang="en">{reason}</span>}
        </p>
      ) : null}
      <dl className="facts is-wide">
        {wallet.label === null ? null : (
          <div>
            <dt>{t('wallets.label')}</dt>
            <dd>
              <Name text={wallet.label} />
            </dd>
          </div>
        )}
        <div>
          <dt>{t('alerts.status')}</dt>
          <dd>
            <span className="tag">{word('walletStatus', status)}</span> <Following wallet={wallet} />
          </dd>
        </div>
        <div>
          <dt>{t('wallets.followedTo')}</dt>
          <dd>{followedTo === null ? t('wallets.noBlock') : followedTo}</dd>
        </div>
        <div>
          <dt>{t('wallets.risk')}</dt>
          <dd>
            <WalletRisk wallet={wallet} />
          </dd>
        </div>
        <div>
          <dt>{t('wallets.screened')}</dt>
          <dd>
            <Time iso={wallet.screenedAt} />
          </dd>
        </div>
        <div>
          <dt>{t('wallets.created')}</dt>
          <dd>
            <Time iso={wallet.createdAt} />
          </dd>
        </div>
        {wallet.notes === null ? null : (
          <div>
            <dt>{t('wallets.notes')}</dt>
            <dd>
              <Name text={wallet.notes} />
            </dd>
          </div>
        )}
      </dl>
    </Section>
  );
}

const textOrNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());

function SettingsForm({ wallet, change }: ChangeProps): ReactNode {
  const { t } = useI18n();
  const [label, setLabel] = useState(wallet.label ?? '');
  const [settings, setSettings] = useState<Settings>({
    enabledRules: wallet.enabledRules,
    alertThreshold: wallet.alertThreshold,
    alertFrequency: wallet.alertFrequency,
    customWebhookUrl: wallet.customWebhookUrl ?? '',
    notes: wallet.notes ?? '',
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const { customWebhookUrl, notes, ...rules } = settings;
    const url = textOrNull(customWebhookUrl);
    const body = {
      ...rules,
      label: textOrNull(label),
      notes: textOrNull(notes),
      // A URL that is set again is used again, also after a receiver has refused it for good.
      ...(url === wallet.customWebhookUrl ? {} : { customWebhookUrl: url }),
    };
    change.mutate(body as Patch);
  };
  return (
    <form className="form" onSubmit={submit}>
      <div className="inline-form">
        <LabelField label={label} onChange={setLabel} />
      </div>
      <SettingFields settings={settings} onChange={setSettings} />
      <div className="actions">
        <Button type="submit" kind="primary" isBusy={change.isPending}>
          {t('wallets.save')}
        </Button>
      </div>
    </form>
  );
}
