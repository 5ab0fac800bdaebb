/** `/usage`: what the account may use, what it has used, and the ledger of both balances. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Button } from '../../ui/Button.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Choice } from '../../ui/Field.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { Name, Time } from '../../ui/values.tsx';
import { Measure } from './parts.tsx';

type Usage = DataOf<'/usage', 'get'>;
type Balance = Pick<Usage, 'balance' | 'credits' | 'totals'>;
type Entry = Usage['history'][number];
type Pool = 'api' | 'dashboard';

/** Entries of one request (`usagePageMax` of the API). */
const PAGE_ENTRIES = 100;

/** Balances, plan and quotas, without a page of the ledger. */
export const usageQuery = {
  queryKey: ['usage', 'now'],
  queryFn: ({ signal }: { signal: AbortSignal }) => call('get', '/usage', { query: { limit: 1 }, signal }),
} as const;

/** The page. */
export function UsagePage(): ReactNode {
  const { t } = useI18n();
  const usage = useQuery(usageQuery);
  return (
    <Page
      title={t('usage.title')}
      actions={
        <Link to={PATHS.billing} className="button plain">
          {t('usage.buy')}
        </Link>
      }
    >
      {usage.isPending ? <Loading lines={6} /> : null}
      {usage.error === null ? null : <Failure error={usage.error} onRetry={() => void usage.refetch()} />}
      {usage.data === undefined ? null : (
        <>
          <div className="pair">
            <Credits title={t('usage.dashboard')} note={t('usage.dashboardNote')} of={usage.data.dashboard} />
            <Credits title={t('usage.api')} note={t('usage.apiNote')} of={usage.data} />
          </div>
          <Plan plan={usage.data.plan} />
        </>
      )}
      <Ledger />
    </Page>
  );
}

interface CreditsProps {
  readonly title: string;
  readonly note: string;
  readonly of: Balance | undefined;
}

/** One balance with its parts. */
function Credits({ title, note, of }: CreditsProps): ReactNode {
  const { t, number } = useI18n();
  if (of === undefined) return null;
  const { free, granted, bought, held, renewsAt } = of.credits;
  const part = (label: string, value: number): ReactNode => (
    <div>
      <dt>{label}</dt>
      <dd>{number(value)}</dd>
    </div>
  );
  return (
    <Section title={title} note={note}>
      <p>
        <span className="balance">{number(of.balance)}</span> {t('usage.credits', { count: of.balance })}
      </p>
      <dl className="facts">
        {part(t('usage.free'), free)}
        {part(t('usage.granted'), granted)}
        {part(t('usage.bought'), bought)}
        {part(t('usage.held'), held)}
        <div>
          <dt>{t('usage.renews')}</dt>
          <dd>
            <Time iso={renewsAt} />
          </dd>
        </div>
      </dl>
    </Section>
  );
}

type PlanData = Usage['plan'];

/** The plan: quotas with what is left, and limits. */
function Plan({ plan }: { readonly plan: PlanData }): ReactNode {
  const { t, number, word } = useI18n();
  const limits = useMemo(() => Object.entries(plan.requestsPerMinute), [plan]);
  return (
    <Section title={t('usage.plan', { plan: plan.name })} note={t('usage.planNote')}>
      <dl className="facts">
        {plan.quotas.map(({ meter, limit, used, resetAt }) => (
          <div key={meter}>
            <dt>{word('quota', meter)}</dt>
            <dd>
              {limit === null
                ? t('usage.unlimited', { used })
                : t('usage.left', { left: Math.max(0, limit - used), limit })}
              {limit === null ? null : <Measure label={word('quota', meter)} value={used} max={limit} />}
              <div className="muted hint">
                {t('usage.resets')} <Time iso={resetAt} />
              </div>
            </dd>
          </div>
        ))}
        <div>
          <dt>{t('usage.creditsPerMonth')}</dt>
          <dd>{number(plan.creditsPerMonth)}</dd>
        </div>
        <div>
          <dt>{t('usage.walletsMax')}</dt>
          <dd>{number(plan.walletsMax)}</dd>
        </div>
      </dl>
      <details>
        <summary>{t('usage.limits')}</summary>
        <p className="muted">{t('usage.limitsNote')}</p>
        <dl className="facts">
          {limits.map(([name, most]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{number(most)}</dd>
            </div>
          ))}
        </dl>
      </details>
    </Section>
  );
}

interface LedgerPage {
  readonly history: readonly Entry[];
  readonly totals: Balance['totals'];
  readonly nextCursor: string | null;
}

/** Reads a page of the ledger of one balance. */
async function readLedger(pool: Pool, cursor: string | null, signal: AbortSignal): Promise<LedgerPage> {
  const after = pool === 'api' ? { cursor } : { dashboardCursor: cursor };
  const usage = await call('get', '/usage', {
    query: { limit: PAGE_ENTRIES, ...(cursor === null ? {} : after) } as never,
    signal,
  });
  const { history, totals, nextCursor } = pool === 'api' ? usage : (usage.dashboard ?? usage);
  return { history, totals, nextCursor };
}

/** The ledger of the chosen balance. */
function Ledger(): ReactNode {
  const { t } = useI18n();
  const [{ pool: asked }, change] = useUrlState();
  const pool: Pool = asked === 'api' ? 'api' : 'dashboard';
  const ledger = useInfiniteQuery({
    queryKey: ['usage', 'ledger', pool],
    queryFn: ({ pageParam, signal }) => readLedger(pool, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
  const entries = useMemo(() => ledger.data?.pages.flatMap(({ history }) => history) ?? [], [ledger.data]);
  const days = ledger.data?.pages[0]?.totals.byDay ?? [];
  return (
    <>
      <Section
        title={t('usage.ledger')}
        note={t('usage.ledgerNote')}
        actions={
          <Choice
            label={t('usage.pool')}
            isLabelHidden
            value={pool}
            options={[
              { value: 'dashboard', label: t('usage.dashboard') },
              { value: 'api', label: t('usage.api') },
            ]}
            onChange={(next) => change({ pool: next })}
          />
        }
      >
        {ledger.isPending ? <Loading lines={6} /> : null}
        {ledger.error === null ? null : (
          <Failure error={ledger.error} onRetry={() => void ledger.refetch()} />
        )}
        {ledger.data === undefined ? null : <Entries entries={entries} />}
        {ledger.hasNextPage ? (
          <div className="actions">
            <Button isBusy={ledger.isFetchingNextPage} onClick={() => void ledger.fetchNextPage()}>
              {t('manage.older')}
            </Button>
            <span className="muted">{t('manage.loaded', { count: entries.length })}</span>
          </div>
        ) : null}
      </Section>
      {days.length === 0 ? null : <Days days={days} />}
    </>
  );
}

const entryKey = ({ id }: Entry): string => id;

function Entries({ entries }: { readonly entries: readonly Entry[] }): ReactNode {
  const { t, word, number } = useI18n();
  const columns = useMemo(
    (): readonly Column<Entry>[] => [
      {
        id: 'at',
        header: t('usage.at'),
        value: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => <Time iso={createdAt} />,
      },
      {
        id: 'type',
        header: t('usage.type'),
        value: ({ type }) => word('ledger', type),
        hasFilter: true,
      },
      {
        id: 'reference',
        header: t('usage.reference'),
        value: ({ reference }) => reference,
        cell: ({ reference }) => (reference === null ? '' : <Name text={reference} />),
      },
      {
        id: 'amount',
        header: t('usage.amount'),
        value: ({ amount }) => amount,
        cell: ({ amount }) => (amount > 0 ? `+${number(amount)}` : number(amount)),
        isNumber: true,
      },
      {
        id: 'balance',
        header: t('usage.balance'),
        value: ({ balance }) => balance,
        cell: ({ balance }) => number(balance),
        isNumber: true,
      },
      { id: 'id', header: t('usage.id'), value: ({ id }) => id, isHidden: true },
    ],
    [t, word, number],
  );
  return (
    <DataTable
      id="ledger"
      caption={t('usage.ledger')}
      columns={columns}
      rows={entries}
      rowKey={entryKey}
      empty={<Empty title={t('usage.none')}>{t('usage.noneHelp')}</Empty>}
    />
  );
}

interface DayRow {
  readonly day: string;
  readonly spent: number;
  readonly added: number;
}

/** Days with entries: what was spent, and what was added. */
function Days({ days }: { readonly days: Balance['totals']['byDay'] }): ReactNode {
  const { t, number } = useI18n();
  const rows = useMemo(
    () =>
      days.map(({ day, byType }): DayRow => {
        const amounts = Object.values(byType) as readonly number[];
        const sum = (list: readonly number[]): number => list.reduce((total, amount) => total + amount, 0);
        return {
          day,
          spent: Math.abs(sum(amounts.filter((amount) => amount < 0))),
          added: sum(amounts.filter((amount) => amount > 0)),
        };
      }),
    [days],
  );
  const most = Math.max(1, ...rows.map(({ spent }) => spent));
  const columns = useMemo(
    (): readonly Column<DayRow>[] => [
      { id: 'day', header: t('usage.day'), value: ({ day }) => day },
      {
        id: 'spent',
        header: t('usage.spent'),
        value: ({ spent }) => spent,
        cell: ({ spent }) => number(spent),
        isNumber: true,
      },
      {
        id: 'bar',
        header: t('usage.share'),
        value: ({ spent }) => Math.round((spent / most) * 100),
        cell: ({ day, spent }) => <Measure label={`${t('usage.spent')}, ${day}`} value={spent} max={most} />,
      },
      {
        id: 'added',
        header: t('usage.added'),
        value: ({ added }) => added,
        cell: ({ added }) => number(added),
        isNumber: true,
      },
    ],
    [t, number, most],
  );
  return (
    <Section title={t('usage.days')} note={t('usage.daysNote')}>
      <DataTable
        id="days"
        caption={t('usage.days')}
        columns={columns}
        rows={rows}
        rowKey={({ day }) => day}
        hasControls={false}
      />
    </Section>
  );
}
