/** `/alerts`: the inbox of alerts, live. Filters and the open alert are in the URL. */
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { useShortcut } from '../../shell/shortcuts.ts';
import { Page } from '../../ui/Page.tsx';
import { csvName, saveFile } from '../../ui/save-file.ts';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { type NewCase, useOpenCase } from '../case/open.ts';
import { titleText } from '../case/title.ts';
import { AlertTable } from './AlertTable.tsx';
import { NEXT_STATUS, useAlertChanges, useOwnName } from './actions.ts';
import { Bulk, CASE_LINKS_MAX, ChangeProgress } from './Bulk.tsx';
import { alertsCsv } from './csv.ts';
import { Details } from './Details.tsx';
import { AlertFilters, NotFollowedChains, StreamMark } from './Filters.tsx';
import type { Alert } from './inbox.ts';
import { filtersIn, useInbox } from './use-inbox.ts';
import './alerts.css';

const PRIORITY = { LOW: 'LOW', MEDIUM: 'MEDIUM', HIGH: 'HIGH', CRITICAL: 'URGENT' } as const;

/** Rows that are read before the keyboard reaches them: a second of a key that is held down. */
const READ_AHEAD_ROWS = 50;

/** Returns a case about alerts; null if there are none. */
function caseOf(alerts: readonly Alert[]): NewCase | null {
  const [first] = alerts;
  if (first === undefined) return null;
  return {
    title: titleText(first.title),
    priority: PRIORITY[first.severity],
    links: alerts.slice(0, CASE_LINKS_MAX).map(({ id }) => ({ type: 'ALERT' as const, id })),
  };
}

/** The row that has the keyboard: it stays on its alert when others arrive above it. */
function useActiveRow(inbox: ReturnType<typeof useInbox>['inbox']) {
  const [active, setActive] = useState(-1);
  const fresh = inbox.freshCount;
  const [before, setBefore] = useState({ inbox, fresh });
  if (before.inbox !== inbox || before.fresh !== fresh) {
    const isSame = before.inbox === inbox && fresh >= before.fresh;
    if (active >= 0) setActive(isSame ? active + fresh - before.fresh : -1);
    setBefore({ inbox, fresh });
  }
  return [active, setActive] as const;
}

/** The page. */
export function AlertsPage(): ReactNode {
  const { t } = useI18n();
  const [search, changeSearch] = useUrlState();
  const filters = useMemo(() => filtersIn(search), [search]);
  const { inbox, view, stream } = useInbox(filters);
  const { count, error, waitSeconds, notFollowed } = view;
  const ownName = useOwnName();
  const { progress, change } = useAlertChanges(inbox);
  const [active, setActive] = useActiveRow(inbox);
  const [checked, setChecked] = useState<ReadonlySet<string>>(new Set());
  const openCase = useOpenCase();
  const openCaseOf = (alerts: readonly Alert[]): void => {
    const body = caseOf(alerts);
    if (body !== null) openCase.mutate(body);
  };
  const isBusy = progress !== null && progress.done < progress.total;
  const opened = search.alert === undefined ? undefined : inbox.byId(search.alert);

  const goTo = (row: number): void => {
    if (count === null || row < 0 || row >= count) return;
    setActive(row);
    // Rows are read once scrolling settles, which does not happen while a key is pressed again and again: an alert that is not read yet cannot be
    // selected, and would be passed over.
    inbox.show(row, row + READ_AHEAD_ROWS);
    // The keys work from anywhere. If nothing else has the focus, it follows the row, so that screen readers read it.
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.id === 'content')
      document.querySelector<HTMLElement>('.alert-frame')?.focus({ preventScroll: true });
    const alert = inbox.at(row);
    if (opened !== undefined && alert !== undefined) changeSearch({ alert: alert.id });
  };
  const open = (row: number): void => {
    setActive(row);
    changeSearch({ alert: inbox.at(row)?.id ?? '' });
  };
  const close = (): void => {
    changeSearch({ alert: '' });
    // What had the focus goes away.
    document.querySelector<HTMLElement>('.alert-row.is-active')?.focus({ preventScroll: true });
  };
  const toggle = (id: string): void => {
    const next = new Set(checked);
    if (!next.delete(id)) next.add(id);
    setChecked(next);
  };
  const activeAlert = inbox.at(active);
  const moveOn = (): void => {
    const ids = checked.size > 0 ? [...checked] : activeAlert === undefined ? [] : [activeAlert.id];
    const isEnd = checked.size === 0 && activeAlert?.status === 'INVESTIGATING';
    void change(ids, ({ status }) => {
      const next = NEXT_STATUS[status];
      return next === null ? null : { status: next };
    });
    if (isEnd) goTo(active + 1);
  };
  const hasActive = activeAlert !== undefined;
  useShortcut('j', 'alerts.keyDown', () => goTo(active + 1));
  useShortcut('k', 'alerts.keyUp', () => goTo(active - 1));
  useShortcut('e', 'alerts.keyMove', moveOn, hasActive || checked.size > 0);
  useShortcut('x', 'alerts.keySelect', () => activeAlert && toggle(activeAlert.id), hasActive);
  useShortcut('o', 'alerts.keyOpen', () => open(active), hasActive);
  useShortcut('Escape', 'alerts.keyClose', close, opened !== undefined);

  // On the way back to the open alert, the keyboard continues at its row.
  const openedRow = opened === undefined ? -1 : inbox.rowOf(opened.id);
  useEffect(() => {
    if (active < 0 && openedRow >= 0) setActive(openedRow);
  }, [active, openedRow, setActive]);

  // Another list has other alerts.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the inbox is what changes
  useEffect(() => setChecked(new Set()), [inbox]);

  return (
    <Page
      title={t('alerts.title')}
      actions={
        <>
          <StreamMark state={stream} />
          <Link to={PATHS.deliveries} className="button plain">
            {t('deliveries.title')}
          </Link>
        </>
      }
    >
      <NotFollowedChains chains={notFollowed} />
      <AlertFilters search={search} onChange={(next) => changeSearch({ ...next, alert: '' })} count={count} />
      {waitSeconds === null ? null : (
        <p role="status" className="note">
          {t('alerts.waiting', { seconds: waitSeconds })}
        </p>
      )}
      {checked.size === 0 ? null : (
        <Bulk
          ids={[...checked]}
          isBusy={isBusy || openCase.isPending}
          // Alerts that could not be changed stay selected, and the form stays as it is, to be sent again.
          onChange={(body) =>
            void change([...checked], () => body).then((failed) => setChecked(new Set(failed)))
          }
          onCase={() => openCaseOf([...checked].flatMap((id) => inbox.byId(id) ?? []))}
          onSave={() =>
            saveFile(
              csvName(location, 'alerts', new Date()),
              'text/csv;charset=utf-8',
              alertsCsv([...checked].flatMap((id) => inbox.byId(id) ?? [])),
            )
          }
          onClear={() => setChecked(new Set())}
        />
      )}
      <ChangeProgress progress={progress} />
      {openCase.error === null ? null : <Failure error={openCase.error} />}
      {error === null ? null : <Failure error={error} onRetry={() => inbox.reload()} />}
      {count === null && error === null ? <Loading lines={8} /> : null}
      {count === 0 ? (
        <NoAlerts
          isFiltered={Object.keys(filters).length > 0}
          isOfAddress={filters.walletAddress !== undefined}
        />
      ) : null}
      {count === null || count === 0 ? null : (
        <div className={opened === undefined ? 'inbox' : 'inbox has-details'}>
          <AlertTable
            inbox={inbox}
            count={count}
            active={active}
            checked={checked}
            onActive={setActive}
            onOpen={open}
            onCheck={toggle}
          />
          {opened === undefined ? null : (
            <Details
              alert={opened}
              ownName={ownName}
              isBusy={isBusy || openCase.isPending}
              onChange={async (body) => (await change([opened.id], () => body)).length === 0}
              onCase={() => openCaseOf([opened])}
              onClose={close}
            />
          )}
        </div>
      )}
    </Page>
  );
}

interface NoAlertsProps {
  readonly isFiltered: boolean;
  readonly isOfAddress: boolean;
}

function NoAlerts({ isFiltered, isOfAddress }: NoAlertsProps): ReactNode {
  const { t } = useI18n();
  if (isFiltered)
    return (
      <Empty title={t('alerts.noMatch')}>
        {t('alerts.noMatchHelp')} {isOfAddress ? t('alerts.addressHint') : null}
      </Empty>
    );
  return (
    <Empty title={t('alerts.none')}>
      {t('alerts.noneHelp')} <Link to={PATHS.wallets}>{t('wallets.title')}</Link>
    </Empty>
  );
}
