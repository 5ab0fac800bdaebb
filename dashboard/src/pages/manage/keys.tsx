/** `/keys`: the API keys of the account. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { call } from '../../api/client.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { Name, NotKnown, Time } from '../../ui/values.tsx';
import { NewKey, PERMISSIONS, type Permission } from './NewKey.tsx';
import { type Key, keysQuery, OwnersOnly, Popup, Tick, useAuthor, useRole } from './parts.tsx';

type KeyList = Awaited<ReturnType<typeof keysQuery.queryFn>>;

/** Puts changed or new keys into the list. Reading it again would use up the requests of a minute, of which there are few. */
function putKeys(changed: readonly Key[]): void {
  queries.setQueryData<KeyList>(keysQuery.queryKey, (list) => {
    if (list === undefined) return list;
    const byId = new Map([...list.keys, ...changed].map((key) => [key.id, key]));
    return { ...list, keys: [...byId.values()] };
  });
}

/** The page. */
export function KeysPage(): ReactNode {
  const { t } = useI18n();
  const isOwner = useRole() === 'owner';
  const keys = useQuery(keysQuery);
  const [isCreating, setCreating] = useState(false);
  const [openId, setOpenId] = useState<string | null>(null);
  // Newest first: the key that was created a moment ago is the one that a person looks for.
  const rows = useMemo(() => (keys.data?.keys ?? []).toReversed(), [keys.data]);
  const open = rows.find(({ id }) => id === openId);
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      {t('keys.create')}
    </Button>
  );
  return (
    <Page title={t('keys.title')} actions={isOwner ? create : undefined}>
      <Section title={t('keys.list')} note={t('keys.note')}>
        <OwnersOnly />
        {keys.isPending ? <Loading lines={5} /> : null}
        {keys.error === null ? null : <Failure error={keys.error} onRetry={() => void keys.refetch()} />}
        {keys.data === undefined ? null : <KeyTable rows={rows} onOpen={(key) => setOpenId(key.id)} />}
      </Section>
      {isCreating ? <NewKey onClose={() => setCreating(false)} onCreated={(key) => putKeys([key])} /> : null}
      {open === undefined ? null : (
        <KeyDialog record={open} all={rows} isOwner={isOwner} onClose={() => setOpenId(null)} />
      )}
    </Page>
  );
}

const keyOf = ({ id }: Key): string => id;
const isActive = ({ status }: Key): boolean => status === 'ACTIVE';

function KeyTable({
  rows,
  onOpen,
}: {
  readonly rows: readonly Key[];
  readonly onOpen: (key: Key) => void;
}): ReactNode {
  const { t, word } = useI18n();
  const author = useAuthor();
  const columns = useMemo(
    (): readonly Column<Key>[] => [
      {
        id: 'name',
        header: t('keys.name'),
        value: ({ name }) => name,
        cell: (key) => (
          <button type="button" className="link-button" onClick={() => onOpen(key)}>
            <Name text={key.name} />
          </button>
        ),
      },
      {
        id: 'key',
        header: t('keys.key'),
        value: ({ prefix, last4 }) => `${prefix}…${last4}`,
        cell: ({ prefix, last4 }) => <code className="one-line">{`${prefix}…${last4}`}</code>,
      },
      {
        id: 'status',
        header: t('keys.status'),
        value: ({ status }) => word('keyStatus', status),
        hasFilter: true,
        cell: ({ status }) => <span className="tag">{word('keyStatus', status)}</span>,
      },
      {
        id: 'permissions',
        header: t('keys.permissions'),
        value: ({ permissions }) => permissions.join(', '),
        cell: ({ permissions }) => (
          <span className="tags">
            {permissions.map((permission) => (
              <span key={permission} className="tag">
                {permission}
              </span>
            ))}
          </span>
        ),
      },
      {
        id: 'used',
        header: t('keys.lastUsed'),
        value: ({ lastUsedAt }) => lastUsedAt,
        cell: ({ lastUsedAt }) =>
          lastUsedAt === null ? (
            <span className="muted">{t('keys.neverUsed')}</span>
          ) : (
            <Time iso={lastUsedAt} />
          ),
      },
      {
        id: 'created',
        header: t('keys.createdAt'),
        value: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => <Time iso={createdAt} />,
      },
      {
        id: 'by',
        header: t('keys.createdBy'),
        value: ({ createdBy }) => author(createdBy),
        cell: ({ createdBy }) => {
          const name = author(createdBy);
          return name === null ? <NotKnown /> : <Name text={name} />;
        },
      },
      {
        id: 'revoked',
        header: t('keys.revokedAt'),
        value: ({ revokedAt }) => revokedAt,
        cell: ({ revokedAt }) => (revokedAt === null ? '' : <Time iso={revokedAt} />),
        isHidden: true,
      },
    ],
    [t, word, author, onOpen],
  );
  return (
    <DataTable
      id="keys"
      caption={t('keys.list')}
      columns={columns}
      rows={rows}
      rowKey={keyOf}
      onOpen={onOpen}
      empty={
        <Empty title={t('keys.none')}>
          {t('keys.noneHelp')} <a href="/docs/api">{t('nav.api')}</a>
        </Empty>
      }
    />
  );
}

/** Returns the active keys that a key created, and those that these created. */
function descendantsOf(id: string, all: readonly Key[]): readonly Key[] {
  const own = all.filter(({ createdBy }) => createdBy === id);
  return [...own.filter(isActive), ...own.flatMap((key) => descendantsOf(key.id, all))];
}

interface KeyDialogProps {
  readonly record: Key;
  readonly all: readonly Key[];
  readonly isOwner: boolean;
  readonly onClose: () => void;
}

/** One key: its permissions, which can be switched, and its end. */
function KeyDialog({ record, all, isOwner, onClose }: KeyDialogProps): ReactNode {
  const { t, word } = useI18n();
  const toggle = useMutation({
    mutationFn: (body: { permission: Permission; enabled: boolean }) =>
      call('patch', '/keys/{id}', { path: { id: record.id }, body }),
    onSuccess: ({ key }) => putKeys([key]),
  });
  return (
    <Popup title={<Name text={record.name} />} onClose={onClose}>
      <dl className="facts">
        <div>
          <dt>{t('keys.key')}</dt>
          <dd>
            <code className="one-line">{`${record.prefix}…${record.last4}`}</code>
          </dd>
        </div>
        <div>
          <dt>{t('keys.status')}</dt>
          <dd>{word('keyStatus', record.status)}</dd>
        </div>
        <div>
          <dt>{t('keys.createdAt')}</dt>
          <dd>
            <Time iso={record.createdAt} />
          </dd>
        </div>
      </dl>
      <fieldset className="ticks" disabled={!isOwner || !isActive(record)} aria-busy={toggle.isPending}>
        <legend>{t('keys.permissions')}</legend>
        {PERMISSIONS.map((permission) => (
          <Tick
            key={permission}
            label={permission}
            hint={word('permission', permission)}
            checked={record.permissions.includes(permission)}
            // Not disabled while the server is asked: a disabled box loses the focus.
            onTick={(enabled) => toggle.isPending || toggle.mutate({ permission, enabled })}
          />
        ))}
      </fieldset>
      {toggle.error === null ? null : <Failure error={toggle.error} />}
      {isOwner ? <Revoke record={record} all={all} onDone={onClose} /> : null}
    </Popup>
  );
}

interface RevokeProps {
  readonly record: Key;
  readonly all: readonly Key[];
  readonly onDone: () => void;
}

function Revoke({ record, all, onDone }: RevokeProps): ReactNode {
  const { t } = useI18n();
  const descendants = useMemo(() => descendantsOf(record.id, all), [record.id, all]);
  const [isWithAll, setWithAll] = useState(false);
  const revoke = useMutation({
    mutationFn: () =>
      call('delete', '/keys/{id}', {
        path: { id: record.id },
        query: { descendants: isWithAll || !isActive(record) },
      }),
    onSuccess: ({ key, revokedDescendants }) => {
      putKeys([key, ...revokedDescendants]);
      onDone();
    },
  });
  if (!isActive(record) && descendants.length === 0) return null;
  return (
    <div className="danger-zone">
      {descendants.length === 0 ? null : (
        <Tick
          label={t('keys.withDescendants', { count: descendants.length })}
          checked={isWithAll || !isActive(record)}
          disabled={!isActive(record)}
          onTick={setWithAll}
        />
      )}
      {revoke.error === null ? null : <Failure error={revoke.error} />}
      <Confirm
        label={t('keys.revoke')}
        title={t('keys.revokeTitle')}
        text={
          isWithAll && descendants.length > 0
            ? t('keys.revokeAllText', { count: descendants.length })
            : t('keys.revokeText')
        }
        isBusy={revoke.isPending}
        onConfirm={() => revoke.mutate()}
      />
    </div>
  );
}
