/** The button for the next page of a list. */
import type { ReactNode } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { Button } from './Button.tsx';

interface MoreProps {
  readonly pages: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => Promise<unknown>;
  };
}

/** Shows the button if there is a next page. */
export function More({ pages }: MoreProps): ReactNode {
  const { t } = useI18n();
  if (!pages.hasNextPage) return null;
  return (
    <>
      <div className="actions">
        <Button isBusy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          {t('more.load')}
        </Button>
      </div>
      <p className="only-print muted">{t('more.printed')}</p>
    </>
  );
}
