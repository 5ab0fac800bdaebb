/** `/reset#token=…`: the link of the email after a forgotten password. */
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { call } from '../api/client.ts';
import { forgetSession } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { Page } from '../ui/Page.tsx';
import { Failure } from '../ui/states.tsx';
import { useFragmentToken } from '../ui/token.ts';
import { PASSWORD_MIN } from './register.tsx';

/** The form that sets a new password. */
export function ResetPage(): ReactNode {
  const { t } = useI18n();
  const token = useFragmentToken();
  const [password, setPassword] = useState('');
  const reset = useMutation({
    mutationFn: () => call('post', '/auth/password/reset', { body: { token, password } }),
    // The new password ends all sessions.
    onSuccess: forgetSession,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!reset.isPending) reset.mutate();
  };
  if (reset.isSuccess)
    return (
      <Page title={t('reset.done')}>
        <p className="card">{t('reset.doneHelp')}</p>
        <p className="form-links">
          <Link to={PATHS.login}>{t('login.title')}</Link>
        </p>
      </Page>
    );
  return (
    <Page title={t('reset.title')}>
      {token === '' ? (
        <p className="card">
          {t('reset.noToken')} <Link to={PATHS.forgot}>{t('forgot.title')}</Link>
        </p>
      ) : (
        <form className="card form" onSubmit={submit}>
          {reset.error === null ? null : <Failure error={reset.error} />}
          <Field
            label={t('people.newPassword')}
            hint={t('people.passwordHint', { count: PASSWORD_MIN })}
            type="password"
            name="password"
            autoComplete="new-password"
            minLength={PASSWORD_MIN}
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          <Button type="submit" kind="primary" isBusy={reset.isPending}>
            {t('reset.go')}
          </Button>
        </form>
      )}
    </Page>
  );
}
