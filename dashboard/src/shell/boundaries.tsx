/** The states of a page: loading, failed, and not found. */
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Page } from '../ui/Page.tsx';
import { Failure, Loading } from '../ui/states.tsx';

/** A page that is loading. */
export function RouteLoading(): ReactNode {
  return (
    <div className="page">
      <Loading lines={6} />
    </div>
  );
}

/** A page that failed: its file could not be loaded, or it has a fault. */
export function RouteFailure({ error }: ErrorComponentProps): ReactNode {
  const { t } = useI18n();
  const router = useRouter();
  return (
    <Page title={t('error.title')}>
      <Failure error={error} onRetry={() => void router.invalidate()} />
    </Page>
  );
}

/** A path that no page has. */
export function NotFoundPage(): ReactNode {
  const { t } = useI18n();
  return (
    <main className="not-found">
      <Page title={t('error.noPage')}>
        <p>{t('error.noPageHelp')}</p>
        <p>
          <Link to={PATHS.home}>{t('nav.home')}</Link>
        </p>
      </Page>
    </main>
  );
}
