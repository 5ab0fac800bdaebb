/** A button whose action a person confirms, because it costs credits or changes something for others. */
import { Dialog } from '@base-ui/react/dialog';
import { type ReactNode, useState } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { Button } from './Button.tsx';
import { Failure } from './states.tsx';

interface ConfirmProps {
  readonly label: string;
  readonly title: string;
  /** The effect of the action and its cost. */
  readonly text: string;
  /** The result of the action. Without it, the dialog closes at once. */
  readonly done?: string;
  readonly error?: Error | null;
  readonly isBusy?: boolean;
  readonly isDone?: boolean;
  readonly onConfirm: () => void;
  /** Forgets the result of the last time, when the dialog is opened. */
  readonly onOpen?: () => void;
}

/** The button with its dialog. */
export function Confirm(props: ConfirmProps): ReactNode {
  const { label, title, text, done, error = null, isBusy = false, isDone = false, onConfirm, onOpen } = props;
  const { t } = useI18n();
  const [isOpen, setOpen] = useState(false);
  const confirm = (): void => {
    onConfirm();
    if (done === undefined) setOpen(false);
  };
  const change = (willBeOpen: boolean): void => {
    if (willBeOpen && !isBusy) onOpen?.();
    setOpen(willBeOpen);
  };
  return (
    <Dialog.Root open={isOpen} onOpenChange={change}>
      <Dialog.Trigger render={<Button />}>{label}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{title}</Dialog.Title>
          <Dialog.Description role={isDone ? 'status' : undefined}>{isDone ? done : text}</Dialog.Description>
          {error === null ? null : <Failure error={error} />}
          <div className="actions is-end">
            <Dialog.Close render={<Button />}>{t(isDone ? 'ui.close' : 'ui.cancel')}</Dialog.Close>
            {isDone ? null : (
              <Button kind="primary" isBusy={isBusy} onClick={confirm}>
                {label}
              </Button>
            )}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
