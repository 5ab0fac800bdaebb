/** Who did something: a person or a key. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { usePeopleNames } from '../api/people.ts';
import { sessionQuery } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { useIsPrinting } from './printing.ts';
import { Name } from './values.tsx';

/** Shows the address of a person, or the id of a key; `you` for the person who is logged in. */
export function Who({ id }: { readonly id: string }): ReactNode {
  const { t } = useI18n();
  const { data: session } = useQuery(sessionQuery);
  const names = usePeopleNames();
  const isPrinting = useIsPrinting();
  const name = names[id] ?? id;
  // Whoever reads the paper is somebody else.
  if (session?.person.id !== id || isPrinting) return <Name text={name} />;
  return <span title={name}>{t('ui.you')}</span>;
}
