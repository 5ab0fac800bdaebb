/** The rows of the inbox. Only the visible ones are in the document, however many alerts there are. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { ChainMark, ShortAddress } from '../../ui/Address.tsx';
import { amountText } from '../../ui/amount.ts';
import { plainText } from '../../ui/plain-text.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Name, Time } from '../../ui/values.tsx';
import type { Alert, Inbox } from './inbox.ts';

/** Height of a row in pixels. All rows have the same, so that any row can be found without those before it. */
const ROW_PX = 40;
/** Rows that are kept above and below the visible ones. */
const OVERSCAN = 12;
/** Columns that no width hides. A cell over more would make columns of those that are hidden. */
const ALWAYS_SHOWN = 3;
/** A person who drags the scroll bar passes thousands of pages; only those are read on which they stop. */
const SETTLE_MS = 120;

interface AlertTableProps {
  readonly inbox: Inbox;
  readonly count: number;
  readonly active: number;
  readonly checked: ReadonlySet<string>;
  readonly onActive: (row: number) => void;
  readonly onOpen: (row: number) => void;
  readonly onCheck: (id: string) => void;
}

/** Returns whether the element has the focus, or something in it has. */
const hasFocus = (frame: RefObject<HTMLElement | null>): boolean =>
  frame.current?.contains(document.activeElement) === true;

/** Shows the rows. */
export function AlertTable({ inbox, count, active, checked, ...handlers }: AlertTableProps): ReactNode {
  const { t } = useI18n();
  const frame = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    // The header is above the rows, so the last visible one would end below the frame.
    scrollPaddingEnd: ROW_PX,
  });
  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;

  useEffect(() => {
    const timer = setTimeout(() => inbox.show(first, last), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [inbox, first, last]);

  // Alerts that arrive above what a person reads do not move it.
  const fresh = inbox.freshCount;
  const freshBefore = useRef(fresh);
  useLayoutEffect(() => {
    const added = fresh - freshBefore.current;
    freshBefore.current = fresh;
    if (added > 0 && frame.current !== null && frame.current.scrollTop > 0)
      frame.current.scrollTop += added * ROW_PX;
  }, [fresh]);

  useEffect(() => {
    if (active < 0) return;
    virtualizer.scrollToIndex(active, { align: 'auto' });
    if (!hasFocus(frame)) return;
    // The row may be rendered only after the scroll.
    const timer = setTimeout(() =>
      frame.current
        ?.querySelector<HTMLElement>(`tr[aria-rowindex="${active + 2}"]`)
        ?.focus({ preventScroll: true }),
    );
    return () => clearTimeout(timer);
  }, [active, virtualizer]);

  const before = items[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div
      ref={frame}
      role="group"
      className="table-frame alert-frame"
      data-scroll-restoration-id="alerts"
      aria-label={t('alerts.title')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
    >
      <table className="alert-table" aria-rowcount={count + 1}>
        <caption className="visually-hidden">{t('alerts.title')}</caption>
        <thead>
          <tr>
            <th scope="col" className="alert-check">
              <span className="visually-hidden">{t('alerts.select')}</span>
            </th>
            <th scope="col" className="alert-severity">
              {t('alerts.severity')}
            </th>
            <th scope="col">{t('alerts.alert')}</th>
            <th scope="col" className="alert-wallet">
              {t('alerts.wallet')}
            </th>
            <th scope="col" className="alert-amount is-number">
              {t('transfer.amount')}
            </th>
            <th scope="col" className="alert-status">
              {t('alerts.status')}
            </th>
            <th scope="col" className="alert-assignee">
              {t('alerts.assignee')}
            </th>
            <th scope="col" className="alert-time">
              {t('alerts.raised')}
            </th>
          </tr>
        </thead>
        <tbody>
          {before > 0 ? <Spacer height={before} /> : null}
          {items.map(({ index }) => (
            <AlertRow
              key={index}
              row={index}
              alert={inbox.at(index)}
              isActive={index === active}
              isFirst={active < 0 && index === 0}
              isChecked={checked.has(inbox.at(index)?.id ?? '')}
              {...handlers}
            />
          ))}
          {after > 0 ? <Spacer height={after} /> : null}
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ height }: { readonly height: number }): ReactNode {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row is not focusable, and this one has no content
    <tr aria-hidden="true" className="spacer">
      <td style={{ height }} />
    </tr>
  );
}

interface AlertRowProps extends Pick<AlertTableProps, 'onActive' | 'onOpen' | 'onCheck'> {
  readonly row: number;
  readonly alert: Alert | undefined;
  readonly isActive: boolean;
  /** No row is active, and this one is reached by Tab. */
  readonly isFirst: boolean;
  readonly isChecked: boolean;
}

function AlertRow({ row, alert, isActive, isFirst, isChecked, onActive, onOpen, onCheck }: AlertRowProps) {
  const { t, word } = useI18n();
  if (alert === undefined)
    return (
      <tr aria-rowindex={row + 2} className="alert-row">
        <td colSpan={ALWAYS_SHOWN}>
          <span className="bone" aria-hidden="true" />
          <span className="visually-hidden">{t('ui.loading')}</span>
        </td>
      </tr>
    );
  const { wallet, transaction } = alert;
  return (
    <tr
      aria-rowindex={row + 2}
      aria-current={isActive ? 'true' : undefined}
      className={`alert-row can-open${isActive ? ' is-active' : ''}`}
      tabIndex={isActive || isFirst ? 0 : -1}
      onFocus={() => onActive(row)}
      onClick={(event) => {
        const isOther = (event.target as Element).closest('a, button, input, label') !== null;
        if (!isOther && getSelection()?.isCollapsed !== false) onOpen(row);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target === event.currentTarget) onOpen(row);
      }}
    >
      <td className="alert-check">
        <input
          type="checkbox"
          aria-label={t('alerts.selectOne', { title: plainText(alert.title) })}
          checked={isChecked}
          tabIndex={isActive ? 0 : -1}
          onChange={() => onCheck(alert.id)}
        />
      </td>
      <td className="alert-severity">
        <RiskBadge level={alert.severity} />
      </td>
      <td className="alert-title">
        <span lang="en">
          <Name text={alert.title} />
        </span>
        {alert.reorged ? <span className="tag">{t('alerts.reorged')}</span> : null}
      </td>
      <td className="alert-wallet">
        <ChainMark chain={wallet.chain} />{' '}
        {wallet.label === null ? (
          <ShortAddress address={wallet.walletAddress} />
        ) : (
          <Name text={wallet.label} />
        )}
      </td>
      <td className="alert-amount is-number">
        {transaction === null ? (
          ''
        ) : (
          <>
            {amountText(transaction.amount)} <Name text={transaction.asset} />
          </>
        )}
      </td>
      <td className="alert-status">
        <span className="tag">{word('alertStatus', alert.status)}</span>
      </td>
      <td className="alert-assignee">{alert.assignee === null ? '' : <Name text={alert.assignee} />}</td>
      <td className="alert-time">
        <Time iso={alert.createdAt} />
      </td>
    </tr>
  );
}
