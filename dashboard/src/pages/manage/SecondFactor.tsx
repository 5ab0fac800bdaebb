/** The second factor of a person: enrolment with a QR code, recovery codes, and the way back. */
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { call } from '../../api/client.ts';
import { queries, sessionQuery } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { CopyButton } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Field } from '../../ui/Field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Section } from '../../ui/Page.tsx';
import { QrCode } from '../../ui/QrCode.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { Failure } from '../../ui/states.tsx';
import { Popup } from './parts.tsx';

const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: sessionQuery.queryKey });

type Step = 'enable' | 'renew' | 'disable';

/** The section of the page. */
export function SecondFactor({ isEnabled }: { readonly isEnabled: boolean }): ReactNode {
  const { t } = useI18n();
  const [step, setStep] = useState<Step | null>(null);
  const close = (): void => setStep(null);
  return (
    <Section title={t('totp.title')} note={t('totp.note')}>
      <p>
        <span className="tag">{t(isEnabled ? 'totp.on' : 'totp.off')}</span>
      </p>
      <div className="actions">
        {isEnabled ? (
          <>
            <Button onClick={() => setStep('renew')}>{t('totp.renew')}</Button>
            <Button onClick={() => setStep('disable')}>{t('totp.disable')}</Button>
          </>
        ) : (
          <Button kind="primary" onClick={() => setStep('enable')}>
            {t('totp.enable')}
          </Button>
        )}
      </div>
      {step === 'enable' ? <Enable onClose={close} /> : null}
      {step === 'renew' || step === 'disable' ? <Change step={step} onClose={close} /> : null}
    </Section>
  );
}

interface PasswordFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function PasswordField({ value, onChange }: PasswordFieldProps): ReactNode {
  const { t } = useI18n();
  return (
    <Field
      label={t('account.currentPassword')}
      type="password"
      autoComplete="current-password"
      required
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** Three steps: the password, the QR code with a first code of the app, the recovery codes. */
function Enable({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { t } = useI18n();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const enrol = useMutation({ mutationFn: () => call('post', '/auth/totp', { body: { password } }) });
  const confirm = useMutation({ mutationFn: () => call('post', '/auth/totp/confirm', { body: { code } }) });
  // The field of the password is gone; the next one is where the person goes on.
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (enrol.isSuccess) form.current?.querySelector('input')?.focus();
  }, [enrol.isSuccess]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const next = enrol.isSuccess ? confirm : enrol;
    if (!next.isPending) next.mutate();
  };
  if (confirm.isSuccess)
    return (
      <Recovery
        codes={confirm.data.recoveryCodes}
        onClose={() => {
          onClose();
          void refresh();
        }}
      />
    );
  return (
    <Popup title={`${t('totp.title')}: ${t('totp.enable')}`} onClose={onClose}>
      <form ref={form} className="form" onSubmit={submit}>
        {enrol.data === undefined ? (
          <>
            <p>{t('totp.passwordFirst')}</p>
            {enrol.error === null ? null : <Failure error={enrol.error} />}
            <PasswordField value={password} onChange={setPassword} />
          </>
        ) : (
          <>
            <p>{t('totp.scan')}</p>
            <QrCode text={enrol.data.uri} label={t('totp.qr')} />
            <p className="muted">{t('totp.type')}</p>
            <div className="secret-line">
              <code className="secret-text">{enrol.data.secret}</code>
              <CopyButton text={enrol.data.secret} />
            </div>
            {confirm.error === null ? null : <Failure error={confirm.error} />}
            <Field
              label={t('totp.code')}
              inputMode="numeric"
              autoComplete="one-time-code"
              required
              minLength={6}
              maxLength={32}
              value={code}
              onChange={(event) => setCode(event.target.value)}
            />
          </>
        )}
        <div className="actions is-end">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button type="submit" kind="primary" isBusy={enrol.isPending || confirm.isPending}>
            {t(enrol.data === undefined ? 'totp.next' : 'totp.enable')}
          </Button>
        </div>
      </form>
    </Popup>
  );
}

/** New recovery codes, or the end of the second factor: both need the password and a code. */
function Change({ step, onClose }: { readonly step: 'renew' | 'disable'; readonly onClose: () => void }) {
  const { t } = useI18n();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const change = useMutation({
    mutationFn: async () => {
      const body = { password, code };
      if (step === 'renew') return (await call('post', '/auth/totp/recovery-codes', { body })).recoveryCodes;
      await call('post', '/auth/totp/disable', { body });
      return null;
    },
    onSuccess: async (codes) => {
      if (codes !== null) return;
      await refresh();
      onClose();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!change.isPending) change.mutate();
  };
  const codes = change.data ?? null;
  if (codes !== null) return <Recovery codes={codes} onClose={onClose} />;
  return (
    <Popup title={`${t('totp.title')}: ${t(`totp.${step}`)}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p>{t(step === 'renew' ? 'totp.renewHelp' : 'totp.disableHelp')}</p>
        {change.error === null ? null : <Failure error={change.error} />}
        <PasswordField value={password} onChange={setPassword} />
        <Field
          label={t('totp.codeOrRecovery')}
          autoComplete="one-time-code"
          required
          minLength={6}
          maxLength={32}
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
        <div className="actions is-end">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button type="submit" kind="primary" isBusy={change.isPending}>
            {t(`totp.${step}`)}
          </Button>
        </div>
      </form>
    </Popup>
  );
}

/** The recovery codes, once. */
function Recovery({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  const { t } = useI18n();
  const text = codes.join('\n');
  return (
    <Popup title={t('totp.recovery')} onClose={onClose} isKept>
      <p className="warning-line">
        <Icon name="warning" /> {t('manage.once')}
      </p>
      <p>{t('totp.recoveryHelp')}</p>
      <ul className="codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="actions is-end">
        <CopyButton text={text} />
        <Button
          icon="download"
          onClick={() => saveFile('assay-recovery-codes.txt', 'text/plain', `${text}\n`)}
        >
          {t('totp.save')}
        </Button>
        <Button kind="primary" onClick={onClose}>
          {t('manage.stored')}
        </Button>
      </div>
    </Popup>
  );
}
