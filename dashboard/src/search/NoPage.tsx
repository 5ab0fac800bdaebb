/** Answers of the search box to inputs that no page of the dashboard handles. */
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { call } from '../api/client.ts';
import { forgetKey, keyFor } from '../api/repeat-key.ts';
import { useI18n } from '../i18n/index.tsx';
import { keepNames, NAME_CHARS_MAX } from '../pages/names/ask.ts';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { Failure } from '../ui/states.tsx';
import type { Recognised } from './recognise.ts';

/** Shows what can be done with a text that has no page of its own. */
export function NoPage({ found }: { readonly found: Recognised }): ReactNode {
  if (found.kind === 'ens') return <ResolveName name={found.name} />;
  if (found.kind === 'name') return <NameChoice name={found.name} />;
  return null;
}

/** A name is that of a person or a company, or that of an exchange. Screening it costs a credit, so the person decides. */
function NameChoice({ name }: { readonly name: string }): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const screen = (): void => {
    keepNames([{ name: name.slice(0, NAME_CHARS_MAX) }]);
    void navigate({ to: PATHS.names, reloadDocument: location.pathname === PATHS.names });
  };
  return (
    <div className="note">
      <p>{t('search.nameHelp')}</p>
      <div className="actions">
        <Button kind="primary" onClick={screen}>
          {t('search.nameScreen')}
        </Button>
        <Link className="button plain" to={PATHS.exchanges} search={{ name: name.slice(0, 200) } as never}>
          {t('search.nameExchange')}
        </Link>
      </div>
    </div>
  );
}

/** Finds the address of a `.eth` name. Only the check of a transfer resolves names, and it costs a credit, so the person decides. */
function ResolveName({ name }: { readonly name: string }): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const resolve = useMutation({
    mutationFn: async () => {
      const body = { address: name, chain: 'ETH' };
      // If a response is lost, the next press is not charged again. After an answer, it resolves the name again.
      const answer = await call('post', '/kyt', { body: body as never, idempotencyKey: keyFor('kyt', body) });
      forgetKey('kyt', body);
      return answer;
    },
    onSuccess: (data) => {
      const address = (data as { resolved?: Readonly<Record<string, string>> }).resolved?.[name];
      if (address !== undefined) void navigate({ to: PATHS.screening, params: { chain: 'ETH', address } });
    },
  });
  return (
    <div className="note">
      <p>{t('search.ensHelp')}</p>
      <Button kind="primary" isBusy={resolve.isPending} onClick={() => resolve.mutate()}>
        {t('search.ensResolve')}
      </Button>
      {resolve.error === null ? null : <Failure error={resolve.error} />}
    </div>
  );
}
