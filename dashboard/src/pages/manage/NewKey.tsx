/** The dialog that creates a key, and shows it once. */

import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { call } from '../../api/client.ts';
import { everyOf } from '../../api/every.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Field } from '../../ui/Field.tsx';
import { Failure } from '../../ui/states.tsx';
import { type Key, Popup, Secret, Tick } from './parts.tsx';

export type Permission = Key['permissions'][number];
export const PERMISSIONS = everyOf<Permission>()([
  'screening',
  'entity',
  'kyt',
  'monitoring',
  'intel',
  'oracle',
]);

/** `keyNameMax` of the API. */
const NAME_MAX = 100;

interface NewKeyProps {
  readonly onClose: () => void;
  readonly onCreated: (key: Key) => void;
}

/** Creates a key with the permissions that the person ticks: none are ticked at first, so that a key has what its program needs. */
export function NewKey({ onClose, onCreated }: NewKeyProps): ReactNode {
  const { t, word } = useI18n();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly Permission[]>([]);
  const [isMissing, setMissing] = useState(false);
  const create = useMutation({
    mutationFn: () => call('post', '/keys', { body: { name, permissions: [...chosen] } }),
    onSuccess: ({ key }) => onCreated(key),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setMissing(chosen.length === 0);
    if (chosen.length > 0 && !create.isPending) create.mutate();
  };
  if (create.isSuccess)
    return (
      <Popup title={t('keys.created')} onClose={onClose} isKept>
        <Secret label={t('keys.fullKey')} text={create.data.apiKey} />
        <p>{t('keys.createdHelp')}</p>
        <div className="actions is-end">
          <Button kind="primary" onClick={onClose}>
            {t('manage.stored')}
          </Button>
        </div>
      </Popup>
    );
  return (
    <Popup title={t('keys.create')} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {create.error === null ? null : <Failure error={create.error} />}
        <Field
          label={t('keys.name')}
          hint={t('keys.nameHint')}
          required
          maxLength={NAME_MAX}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset className="ticks">
          <legend>{t('keys.permissions')}</legend>
          {PERMISSIONS.map((permission) => (
            <Tick
              key={permission}
              label={permission}
              hint={word('permission', permission)}
              checked={chosen.includes(permission)}
              onTick={(isOn) =>
                setChosen(PERMISSIONS.filter((one) => (one === permission ? isOn : chosen.includes(one))))
              }
            />
          ))}
        </fieldset>
        {isMissing && chosen.length === 0 ? (
          <p className="field-error" role="alert">
            {t('keys.noPermission')}
          </p>
        ) : null}
        <div className="actions is-end">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {t('keys.create')}
          </Button>
        </div>
      </form>
    </Popup>
  );
}
