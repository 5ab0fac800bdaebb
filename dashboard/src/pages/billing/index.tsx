/** `/billing`: packages of credits, and purchases. */
import '../../styles/manage.css';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Page } from '../../ui/Page.tsx';
import { Crypto } from './Crypto.tsx';
import { Invoices } from './Invoices.tsx';
import { Packages } from './Packages.tsx';

/** The page. */
export function CreditsPage(): ReactNode {
  const { t } = useI18n();
  return (
    <Page
      title={t('billing.title')}
      actions={
        <Link to={PATHS.usage} className="button plain">
          {t('billing.balances')}
        </Link>
      }
    >
      <Packages />
      <Crypto />
      <Invoices />
    </Page>
  );
}
