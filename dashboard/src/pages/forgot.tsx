/** `/forgot`: requests the email with the link to a new password. */
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { call } from '../api/client.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { Page } from '../ui/Page.tsx';
import { Failure } from '../ui/states.tsx';

/** The form. */
export function ForgotPage(): ReactNode {
  const { t } = useI18n();
  const [email, setEmail] = useState('');
  const forgot = useMutation({
    mutationFn: () => call('post', '/auth/password/forgot', { body: { email } }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!forgot.isPending) forgot.mutate();
  };
  return (
    <Page title={t('forgot.title')}>
      {forgot.isSuccess ? (
        <p className="card" role="status">
          {t('forgot.sent', { email })}
        </p>
      ) : (
        <form className="card form" onSubmit={submit}>
          {forgot.error === null ? null : <Failure error={forgot.error} />}
          <Field
            label={t('people.email')}
            type="email"
            name="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <Button type="submit" kind="primary" isBusy={forgot.isPending}>
            {t('forgot.go')}
          </Button>
        </form>
      )}
      <p className="form-links">
        <Link to={PATHS.login}>{t('login.title')}</Link>
      </p>
    </Page>
  );
}
