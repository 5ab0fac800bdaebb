/** The content of a page, or what is wrong with its link. */
import { CHAINS } from 'assay:chains';
import { Outlet, useMatches, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { Button } from '../ui/Button.tsx';
import { Icon } from '../ui/icons.tsx';
import { Page } from '../ui/Page.tsx';
import { plainText } from '../ui/plain-text.ts';
import type { Search } from '../ui/url-state.ts';
import { checkLink, type LinkProblem } from './link-check.ts';

/** Characters of a value that are shown. */
const VALUE_CHARS_MAX = 100;

/** Shows the page; with a query that the page does not understand, it reads and charges nothing. */
export function CheckedOutlet(): ReactNode {
  const page = useMatches().at(-1);
  const search = page?.search as Search | undefined;
  const path = page?.fullPath ?? '';
  const problems = useMemo(() => checkLink(path, search ?? {}, CHAINS), [path, search]);
  return problems.length === 0 ? <Outlet /> : <Problems problems={problems} />;
}

function Problems({ problems }: { readonly problems: readonly LinkProblem[] }): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const without = Object.fromEntries(problems.map(({ field }) => [field, undefined]));
  const open = (): void =>
    void navigate({
      to: '.',
      search: ((before: Search) => ({ ...before, ...without })) as never,
      replace: true,
    });
  return (
    <Page title={t('link.title')}>
      <div className="failure" role="alert">
        <Icon name="warning" />
        <div>
          <p className="failure-title">{t('link.help')}</p>
          <ul>
            {problems.map(({ field, value, kind, allowed }) => (
              <li key={field}>
                {t(`link.${kind}`, {
                  field: plainText(field).slice(0, VALUE_CHARS_MAX),
                  value: plainText(value).slice(0, VALUE_CHARS_MAX),
                  allowed: allowed.join(', '),
                })}
              </li>
            ))}
          </ul>
          <Button onClick={open}>{t('link.open')}</Button>
        </div>
      </div>
    </Page>
  );
}
