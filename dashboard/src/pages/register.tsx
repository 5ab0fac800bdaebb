/** `/register`. */
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { call } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { Page } from '../ui/Page.tsx';
import { Failure } from '../ui/states.tsx';

/** The least characters of a password (`passwordCharsMin` of the API). */
export const PASSWORD_MIN = 10;

/** The form that creates an account. */
export function RegisterPage(): ReactNode {
  const { t } = useI18n();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const register = useMutation({
    mutationFn: () => call('post', '/auth/register', { body: { email, password } }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!register.isPending) register.mutate();
  };
  if (register.isSuccess)
    return (
      <Page title={t('register.sent')}>
        <p className="card">{t('register.sentHelp', { email })}</p>
        <p className="form-links">
          <Link to={PATHS.login}>{t('login.title')}</Link>
        </p>
      </Page>
    );
  const isClosed = register.error instanceof ApiError && register.error.status === 403;
  return (
    <Page title={t('register.title')}>
      <form className="card form" onSubmit={submit}>
        {isClosed ? (
          <p className="form-error" role="alert">
            {t('register.closed')}
          </p>
        ) : null}
        {register.error !== null && !isClosed ? <Failure error={register.error} /> : null}
        <Field
          label={t('people.email')}
          type="email"
          name="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
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
        <Button type="submit" kind="primary" isBusy={register.isPending}>
          {t('register.go')}
        </Button>
      </form>
      <p className="form-links">
        <Link to={PATHS.login}>{t('login.title')}</Link>
      </p>
    </Page>
  );
}
