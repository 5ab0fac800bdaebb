/** `/invite#token=…`: the link of an invitation. The person chooses a password, and is logged in. */
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { call } from '../api/client.ts';
import { beginSession, forgetSession } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { Page } from '../ui/Page.tsx';
import { Failure } from '../ui/states.tsx';
import { useFragmentToken } from '../ui/token.ts';
import { PASSWORD_MIN } from './register.tsx';

/** The form. */
export function InvitePage(): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const token = useFragmentToken();
  const [password, setPassword] = useState('');
  const accept = useMutation({
    mutationFn: () => call('post', '/auth/invitation', { body: { token, password } }),
    onSuccess: (session) => {
      // Somebody else may have been logged in with this browser.
      forgetSession();
      beginSession(session);
      void navigate({ to: PATHS.home });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!accept.isPending) accept.mutate();
  };
  if (token === '')
    return (
      <Page title={t('invite.title')}>
        <p className="card">{t('invite.noToken')}</p>
        <p className="form-links">
          <Link to={PATHS.login}>{t('login.title')}</Link>
        </p>
      </Page>
    );
  return (
    <Page title={t('invite.title')}>
      <form className="card form" onSubmit={submit}>
        <p>{t('invite.help')}</p>
        {accept.error === null ? null : <Failure error={accept.error} />}
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
        <Button type="submit" kind="primary" isBusy={accept.isPending}>
          {t('invite.go')}
        </Button>
      </form>
    </Page>
  );
}
