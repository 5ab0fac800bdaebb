/** `/confirm#token=…`: the link of the email after a registration. */
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { call } from '../api/client.ts';
import { queries, sessionQuery } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { Page } from '../ui/Page.tsx';
import { Failure } from '../ui/states.tsx';
import { useFragmentToken } from '../ui/token.ts';

/** Confirms the address when the person presses the button: programs that open links of emails confirm nothing. */
export function ConfirmPage(): ReactNode {
  const { t } = useI18n();
  const token = useFragmentToken();
  const confirm = useMutation({
    mutationFn: () => call('post', '/auth/verify', { body: { token } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: sessionQuery.queryKey }),
  });
  if (confirm.isSuccess)
    return (
      <Page title={t('confirm.done')}>
        <p className="card">{t('confirm.doneHelp')}</p>
        <p className="form-links">
          <Link to={PATHS.home}>{t('confirm.next')}</Link>
        </p>
      </Page>
    );
  return (
    <Page title={t('confirm.title')}>
      <div className="card form">
        <p>{token === '' ? t('confirm.noToken') : t('confirm.help')}</p>
        {confirm.error === null ? null : <Failure error={confirm.error} />}
        {token === '' ? null : (
          <Button kind="primary" isBusy={confirm.isPending} onClick={() => confirm.mutate()}>
            {t('confirm.go')}
          </Button>
        )}
      </div>
    </Page>
  );
}
