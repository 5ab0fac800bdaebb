/** The person who is logged in, and the way out. */
import { Dialog } from '@base-ui/react/dialog';
import { Menu } from '@base-ui/react/menu';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { call } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { endSession, sessionQuery } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { IconButton } from '../ui/Button.tsx';
import { Icon } from '../ui/icons.tsx';
import { Failure } from '../ui/states.tsx';

/** A menu with the address of the person. */
export function AccountMenu(): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const leave = useMutation({
    mutationFn: () =>
      call('post', '/auth/logout').catch((error: unknown) => {
        // A session that has ended already is as good as one that ends now. After any other error, the cookie is still valid.
        if (!(error instanceof ApiError) || error.status !== 401) throw error;
      }),
    onSuccess: () => {
      endSession();
      void navigate({ to: PATHS.login });
    },
  });
  if (!session) return null;
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger className="icon-button" aria-label={t('account.menu')} title={session.account.email}>
          <Icon name="user" />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner align="end" sideOffset={4} className="floating">
            <Menu.Popup className="menu">
              <div className="menu-note">
                <bdi>{session.account.email}</bdi>
                <span className="muted">{t('account.plan', { plan: session.account.plan })}</span>
              </div>
              <Menu.Item className="menu-item" onClick={() => void navigate({ to: PATHS.account })}>
                {t('account.title')}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={() => leave.mutate()}>
                {t('account.logout')}
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <Dialog.Root open={leave.error !== null} onOpenChange={(isOpen) => isOpen || leave.reset()}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog">
            <div className="section-header popup-header">
              <Dialog.Title className="dialog-title">{t('account.logoutFailed')}</Dialog.Title>
              <Dialog.Close render={<IconButton icon="close" name={t('ui.close')} />} />
            </div>
            <Failure error={leave.error} onRetry={() => leave.mutate()} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </>
  );
}
