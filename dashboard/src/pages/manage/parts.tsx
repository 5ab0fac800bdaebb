/** Parts of the pages that manage an account: dialogs, check boxes, secrets that are shown once, measures. */
import { everyOf } from '../../api/every.ts';
import '../../styles/manage.css';
import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import {
  type FormEvent,
  type InputHTMLAttributes,
  type ReactNode,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { peopleQuery } from '../../api/people.ts';
import { sessionQuery } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { CopyButton } from '../../ui/Address.tsx';
import { Button, IconButton } from '../../ui/Button.tsx';
import { Field } from '../../ui/Field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Failure } from '../../ui/states.tsx';

export type Role = DataOf<'/people', 'get'>['people'][number]['role'];
export const ROLES = everyOf<Role>()(['owner', 'analyst', 'auditor']);

/** Returns the role of the person of this session. Without a session, the one with the fewest rights. */
export function useRole(): Role {
  const { data: session } = useQuery(sessionQuery);
  return session?.person.role ?? 'auditor';
}

/** Says why there are no buttons, to people whose role is not enough. */
export function OwnersOnly(): ReactNode {
  const { t } = useI18n();
  return useRole() === 'owner' ? null : <p className="muted">{t('manage.ownersOnly')}</p>;
}

interface PopupProps {
  readonly title: ReactNode;
  readonly onClose: () => void;
  /** Only the buttons of the content close it: it shows something that cannot be shown again. */
  readonly isKept?: boolean;
  readonly children: ReactNode;
}

/** A dialog that is open while it is in the document. */
export function Popup({ title, onClose, isKept = false, children }: PopupProps): ReactNode {
  const { t } = useI18n();
  const popup = useRef<HTMLDivElement>(null);
  // A password with a space, typed at once, would press the first button, which closes the dialog.
  const firstField = (): HTMLElement | true =>
    popup.current?.querySelector<HTMLElement>('form input') ?? true;
  return (
    <Dialog.Root
      open
      disablePointerDismissal={isKept}
      onOpenChange={(isOpen, { reason }) => {
        if (!isOpen && !(isKept && reason === 'escape-key')) onClose();
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup ref={popup} className="dialog" initialFocus={firstField}>
          <div className="section-header popup-header">
            <Dialog.Title className="dialog-title">{title}</Dialog.Title>
            {isKept ? null : <Dialog.Close render={<IconButton icon="close" name={t('ui.close')} />} />}
          </div>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface PasswordDialogProps {
  readonly title: string;
  /** Label of the button that does it. */
  readonly label: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onConfirm: (password: string) => void;
  readonly onClose: () => void;
  /** The effect of the action. */
  readonly children: ReactNode;
}

/** A change that a person confirms with the own password. It stays open until the caller removes it, so that a wrong one can be corrected. */
export function PasswordDialog(props: PasswordDialogProps): ReactNode {
  const { title, label, isBusy, error, onConfirm, onClose, children } = props;
  const { t } = useI18n();
  const [password, setPassword] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isBusy) onConfirm(password);
  };
  return (
    <Popup title={title} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {children}
        {error === null ? null : <Failure error={error} />}
        <Field
          label={t('team.ownPassword')}
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <div className="actions is-end">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {label}
          </Button>
        </div>
      </form>
    </Popup>
  );
}

interface TickProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> {
  readonly label: ReactNode;
  readonly hint?: string;
  readonly onTick: (isOn: boolean) => void;
}

/** A check box with its label. */
export function Tick({ label, hint, onTick, ...input }: TickProps): ReactNode {
  const id = useId();
  return (
    <div className="tick">
      <input
        {...input}
        id={id}
        type="checkbox"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onTick(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint === undefined ? null : (
          <p id={`${id}-hint`} className="muted hint">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

/** A secret that the server does not show again, with the warning. */
export function Secret({ label, text }: { readonly label: string; readonly text: string }): ReactNode {
  const { t } = useI18n();
  return (
    <div className="secret">
      <p className="warning-line">
        <Icon name="warning" /> {t('manage.once')}
      </p>
      <p className="muted">{label}</p>
      <div className="secret-line">
        <code className="secret-text">{text}</code>
        <CopyButton text={text} />
      </div>
    </div>
  );
}

interface MeasureProps {
  readonly label: string;
  readonly value: number;
  readonly max: number;
}

/** A bar for a part of a whole. The numbers are in the text beside it. */
export function Measure({ label, value, max }: MeasureProps): ReactNode {
  const share = max === 0 ? 0 : Math.min(1, Math.max(0, value / max));
  return (
    <div
      className="measure"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={Math.min(value, max)}
    >
      <span style={{ inlineSize: `${share * 100}%` }} />
    </div>
  );
}

/** The keys of the account. */
export const keysQuery = {
  queryKey: ['keys'],
  queryFn: ({ signal }: { signal: AbortSignal }) => call('get', '/keys', { signal }),
} as const;

export type Key = DataOf<'/keys', 'get'>['keys'][number];
export type Person = DataOf<'/people', 'get'>['people'][number];

/** Returns a function that names the author of a change: a person by email, a key by name; other ids as they are. */
export function useAuthor(): (id: string | null) => string | null {
  const { word } = useI18n();
  const { data: session } = useQuery(sessionQuery);
  const { data: people } = useQuery(peopleQuery);
  const { data: keys } = useQuery(keysQuery);
  const accountId = session?.account.id;
  return useMemo(() => {
    // The first person has the id of the account, and is `session` as the creator of a key.
    const first = people?.people.find(({ id }) => id === accountId);
    const names = new Map([
      ...(first === undefined ? [] : [['session', first.email] as const]),
      ...(keys?.keys ?? []).map((key) => [key.id, key.name] as const),
      ...(people?.people ?? []).map((person) => [person.id, person.email] as const),
    ]);
    return (id) => (id === null ? null : (names.get(id) ?? word('author', id)));
  }, [accountId, people, keys, word]);
}
