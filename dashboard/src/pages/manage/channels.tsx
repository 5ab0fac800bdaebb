/** `/channels`: where alerts are sent besides the webhook of each wallet, and the secret that signs webhooks. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { Field } from '../../ui/Field.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Failure, Loading, Stored } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { Popup, Secret, useRole } from './parts.tsx';

type Channels = DataOf<'/monitoring/channels', 'get'>['channels'];

const channelsQuery = {
  queryKey: ['channels'],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await call('get', '/monitoring/channels', { signal })).channels,
} as const;

/** The page. */
export function ChannelsPage(): ReactNode {
  const { t } = useI18n();
  const mayChange = useRole() !== 'auditor';
  const channels = useQuery(channelsQuery);
  return (
    <Page title={t('channels.title')}>
      {channels.isPending ? <Loading lines={6} /> : null}
      {channels.error === null ? null : (
        <Failure error={channels.error} onRetry={() => void channels.refetch()} />
      )}
      {channels.data === undefined ? null : <AllChannels channels={channels.data} mayChange={mayChange} />}
      {mayChange ? <WebhookSecret /> : null}
    </Page>
  );
}

interface AllChannelsProps {
  readonly channels: Channels;
  readonly mayChange: boolean;
}

function AllChannels({ channels, mayChange }: AllChannelsProps): ReactNode {
  const { t } = useI18n();
  const { email, slackWebhookUrl, telegram } = channels;
  return (
    <>
      <Channel
        title={t('channels.email')}
        note={t('channels.emailNote')}
        current={email}
        mayChange={mayChange}
        fields={[{ label: t('people.email'), type: 'email' }]}
        bodyOf={([value = '']) => ({ email: value })}
        removal={{ email: null }}
      />
      <Channel
        title="Slack"
        note={t('channels.slackNote')}
        current={slackWebhookUrl}
        mayChange={mayChange}
        fields={[
          { label: t('channels.slackUrl'), type: 'url', example: 'https://hooks.slack.com/services/…' },
        ]}
        bodyOf={([value = '']) => ({ slackWebhookUrl: value })}
        removal={{ slackWebhookUrl: null }}
      />
      <Channel
        title="Telegram"
        note={t('channels.telegramNote')}
        current={telegram === null ? null : `${telegram.chatId} · ${telegram.botToken}`}
        mayChange={mayChange}
        fields={[
          { label: t('channels.botToken'), type: 'text', example: '110201543:AAHd…' },
          { label: t('channels.chatId'), type: 'text', example: '-1001234567890' },
        ]}
        bodyOf={([botToken = '', chatId = '']) => ({ telegram: { botToken, chatId } })}
        removal={{ telegram: null }}
      />
    </>
  );
}

type ChannelsBody = NonNullable<
  NonNullable<Parameters<typeof call<'put', '/monitoring/channels'>>[2]>['body']
>;

interface ChannelProps {
  readonly title: string;
  readonly note: string;
  /** The value as the server shows it, with secrets masked; null if there is none. */
  readonly current: string | null;
  readonly mayChange: boolean;
  readonly fields: readonly { readonly label: string; readonly type: string; readonly example?: string }[];
  /** Returns the body that sets the values of the fields. */
  readonly bodyOf: (values: readonly string[]) => ChannelsBody;
  /** The body that removes the channel. */
  readonly removal: ChannelsBody;
}

/** One channel: what is set, and the form that replaces it. The server shows no secret again, so the fields begin empty. */
function Channel({ title, note, current, mayChange, fields, bodyOf, removal }: ChannelProps): ReactNode {
  const { t } = useI18n();
  const [values, setValues] = useState<readonly string[]>(fields.map(() => ''));
  const save = useMutation({
    mutationFn: (body: ChannelsBody) => call('put', '/monitoring/channels', { body }),
    onSuccess: ({ channels }) => {
      queries.setQueryData(channelsQuery.queryKey, channels);
      setValues(fields.map(() => ''));
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!save.isPending) save.mutate(bodyOf(values));
  };
  return (
    <Section
      title={title}
      note={note}
      actions={
        current === null || !mayChange ? undefined : (
          <Confirm
            label={t('channels.remove')}
            title={t('channels.removeTitle', { channel: title })}
            text={t('channels.removeText')}
            isBusy={save.isPending}
            onConfirm={() => save.mutate(removal)}
          />
        )
      }
    >
      <p>
        {current === null ? (
          <span className="not-known">{t('channels.notSet')}</span>
        ) : (
          <Name text={current} />
        )}
      </p>
      {mayChange ? (
        <form className="row-form" onSubmit={submit}>
          {fields.map(({ label, type, example }, at) => (
            <Field
              key={label}
              label={label}
              type={type}
              placeholder={example}
              required
              autoComplete="off"
              spellCheck={false}
              value={values[at] ?? ''}
              onChange={(event) => setValues(values.with(at, event.target.value))}
            />
          ))}
          <Button type="submit" isBusy={save.isPending}>
            {t(current === null ? 'channels.set' : 'channels.replace')}
          </Button>
        </form>
      ) : null}
      <Stored isStored={save.isSuccess} />
      {save.error === null ? null : <Failure error={save.error} />}
    </Section>
  );
}

/** Issues the secret that signs webhooks. It cannot be read later, so nothing says whether there is one. */
function WebhookSecret(): ReactNode {
  const { t } = useI18n();
  const issue = useMutation({ mutationFn: () => call('post', '/monitoring/webhook-secret') });
  const previousUntil = issue.data?.previousUntil ?? null;
  return (
    <Section
      title={t('webhook.title')}
      note={t('webhook.note')}
      actions={
        <Confirm
          label={t('webhook.issue')}
          title={t('webhook.issue')}
          text={t('webhook.issueText')}
          isBusy={issue.isPending}
          onConfirm={() => issue.mutate()}
        />
      }
    >
      <p>
        <a href="/docs/guide/monitoring">{t('webhook.guide')}</a>
      </p>
      {issue.error === null ? null : <Failure error={issue.error} />}
      {issue.data === undefined ? null : (
        <Popup title={t('webhook.title')} onClose={() => issue.reset()} isKept>
          <Secret label={t('webhook.secret')} text={issue.data.secret} />
          {previousUntil === null ? null : (
            <p>
              {t('webhook.previous')} <Time iso={previousUntil} />
            </p>
          )}
          <div className="actions is-end">
            <Button kind="primary" onClick={() => issue.reset()}>
              {t('manage.stored')}
            </Button>
          </div>
        </Popup>
      )}
    </Section>
  );
}
