/** `/login`. */
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ChangeEvent, type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { call } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { beginSession, forgetSession } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { Page } from '../ui/Page.tsx';
import { Failure } from '../ui/states.tsx';
import { useUrlState } from '../ui/url-state.ts';

/** A path of this host. `//host` and `/\host` are other hosts to a browser. */
const isOwnPath = (path: string): boolean => /^\/(?![/\\])/.test(path);

/** Whether the email address and the password are right, and a code of the second factor is missing. */
const wantsCode = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'SECOND_FACTOR_REQUIRED';

interface CodeFieldProps {
  readonly code: string;
  readonly onChange: (code: string) => void;
}

/** The second step. It gets the focus when it appears. */
function CodeField({ code, onChange }: CodeFieldProps): ReactNode {
  const { t } = useI18n();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.querySelector('input')?.focus(), []);
  return (
    <div ref={place}>
      <Field
        label={t('login.code')}
        hint={t('login.codeHint')}
        name="code"
        autoComplete="one-time-code"
        autoCapitalize="off"
        spellCheck={false}
        required
        minLength={6}
        maxLength={32}
        value={code}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

/** The form that begins a session. */
export function LoginPage(): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const [{ next = '' }] = useUrlState();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [needsCode, setNeedsCode] = useState(false);
  const login = useMutation({
    mutationFn: () =>
      call('post', '/auth/login', { body: { email, password, ...(needsCode ? { code } : {}) } }),
    onError: (error) => {
      if (wantsCode(error)) setNeedsCode(true);
    },
    onSuccess: (session) => {
      // Somebody else may have been logged in with this browser.
      forgetSession();
      beginSession(session);
      void navigate({ href: isOwnPath(next) ? next : PATHS.home });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!login.isPending) login.mutate();
  };
  const error = wantsCode(login.error) ? null : login.error;
  const isRefused = error instanceof ApiError && error.status === 401;
  const change = (set: (text: string) => void) => (event: ChangeEvent<HTMLInputElement>) => {
    set(event.target.value);
    // The code belongs to this person: another one may need none.
    setNeedsCode(false);
    setCode('');
  };
  return (
    <Page title={t('login.title')}>
      <form className="card form" onSubmit={submit}>
        {isRefused ? (
          <p className="form-error" role="alert">
            {t(needsCode ? 'login.codeRefused' : 'login.refused')}
          </p>
        ) : null}
        {error !== null && !isRefused ? <Failure error={error} /> : null}
        <Field
          label={t('people.email')}
          type="email"
          name="email"
          autoComplete="username"
          required
          value={email}
          onChange={change(setEmail)}
        />
        <Field
          label={t('people.password')}
          type="password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={change(setPassword)}
        />
        {needsCode ? <CodeField code={code} onChange={setCode} /> : null}
        <Button type="submit" kind="primary" isBusy={login.isPending}>
          {t('login.go')}
        </Button>
      </form>
      <p className="form-links">
        <Link to={PATHS.register}>{t('register.title')}</Link>
        <Link to={PATHS.forgot}>{t('forgot.title')}</Link>
        <Link to={PATHS.verify}>{t('verify.title')}</Link>
      </p>
    </Page>
  );
}
