/** The list of keyboard shortcuts. */
import { Dialog } from '@base-ui/react/dialog';
import { type ReactNode, useState } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { IconButton } from '../ui/Button.tsx';
import { areShortcutsOn, setShortcutsOn, useShortcuts } from './shortcuts.ts';

interface HelpProps {
  readonly isOpen: boolean;
  readonly onChange: (isOpen: boolean) => void;
}

/** Shows the shortcuts that work on the page. */
export function Help({ isOpen, onChange }: HelpProps): ReactNode {
  const { t } = useI18n();
  const shortcuts = useShortcuts();
  const [isOn, setOn] = useState(areShortcutsOn);
  return (
    <Dialog.Root open={isOpen} onOpenChange={onChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <div className="section-header">
            <Dialog.Title className="dialog-title">{t('help.title')}</Dialog.Title>
            <Dialog.Close render={<IconButton icon="close" name={t('ui.close')} />} />
          </div>
          <dl className="shortcuts">
            {shortcuts.map(({ keys, label }) => (
              <div key={keys}>
                <dt>
                  {keys.split(' ').map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{t(label)}</dd>
              </div>
            ))}
          </dl>
          <p className="muted">{t('help.tables')}</p>
          <label>
            <input
              type="checkbox"
              checked={isOn}
              onChange={({ target: { checked } }) => {
                setShortcutsOn(checked);
                setOn(checked);
              }}
            />{' '}
            {t('help.on')}
          </label>
          <p>
            <a href="/assets/licences.txt">{t('help.licences')}</a>
          </p>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
