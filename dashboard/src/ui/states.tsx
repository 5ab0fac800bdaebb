/** The states of a page that is not full: empty, loading, failed. */
import type { ReactNode } from 'react';
import { ApiError, isPassing } from '../api/errors.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from './Button.tsx';
import { Icon } from './icons.tsx';
import { ServerText } from './values.tsx';

interface EmptyProps {
  readonly title: string;
  /** Says what would fill the page, and how to do that. */
  readonly children?: ReactNode;
}

/** Nothing to show, and what to do about it. */
export function Empty({ title, children }: EmptyProps): ReactNode {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children === undefined ? null : <div className="muted">{children}</div>}
    </div>
  );
}

/**
 * The structure of content that is still loading.
 *
 * @param lines - about as many as the content has
 */
export function Loading({ lines = 4 }: { readonly lines?: number }): ReactNode {
  const { t } = useI18n();
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{t('ui.loading')}</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <span key={line} className="bone" />
      ))}
    </div>
  );
}

/** Whether a change was refused because somebody else was first. The message of the server then tells a client to read the record again. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 400 && error.field === 'version';

/** Says in the language of the person what can be done about an error. The text of the server follows in English. */
function adviceFor(error: unknown, t: ReturnType<typeof useI18n>['t']): string {
  if (!(error instanceof ApiError)) return t('error.unexpected');
  if (error.status === 0) return t('error.offline');
  if (error.status === 402) return t('error.credits');
  if (error.status === 403) return t('error.permission');
  if (error.status === 404) return t('error.notFound');
  if (error.status === 429)
    return error.retryAfter === null
      ? t('error.rate')
      : t('error.rateSeconds', { seconds: error.retryAfter });
  if (isOvertaken(error)) return t('error.changed');
  if (error.status < 500) return t('error.request');
  // A proxy may fail after the server has done the work: only the server knows that nothing was charged.
  return error.isOfServer ? t('error.server') : t('error.proxy');
}

/**
 * Tells a screen reader that a change was stored. It is always on the page: a region that comes with its text is not announced everywhere. Who
 * sees the page sees the new values; a text would stay while the next change is entered.
 */
export function Stored({ isStored }: { readonly isStored: boolean }): ReactNode {
  const { t } = useI18n();
  return (
    <p role="status" className="visually-hidden">
      {isStored ? t('ui.stored') : ''}
    </p>
  );
}

interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

/** An error: what to do, what the server says, and the id with which its operator finds the request. */
export function Failure({ error, onRetry }: FailureProps): ReactNode {
  const { t } = useI18n();
  const requestId = error instanceof ApiError ? error.requestId : null;
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className="failure" role="alert">
      <Icon name="warning" />
      <div>
        <p className="failure-title">{adviceFor(error, t)}</p>
        {isOvertaken(error) ? null : (
          <p>
            <ServerText text={message} />
          </p>
        )}
        {requestId === null ? null : (
          <p className="muted">
            {t('error.requestId')} <code>{requestId}</code>
          </p>
        )}
        {error instanceof ApiError && error.status === 402 ? (
          <p>
            <a href={PATHS.usage}>{t('usage.title')}</a> · <a href={PATHS.billing}>{t('usage.buy')}</a>
          </p>
        ) : null}
        {onRetry !== undefined && isPassing(error) ? (
          <Button onClick={onRetry}>{t('error.retry')}</Button>
        ) : null}
      </div>
    </div>
  );
}
