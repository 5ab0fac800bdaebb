/** The settings of a wallet: its rules, what is sent and how often. The forms for a new and for a changed wallet share them. */

import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { everyOf } from '../../api/every.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { FREQUENCIES, LABEL_CHARS_MAX, NOTES_CHARS_MAX, THRESHOLDS } from './wallet-csv.ts';

type RuleId = Schemas['MonitoredWallet']['enabledRules'][number];

export const RULES = everyOf<RuleId>()([
  'SANCTIONS-001',
  'MIXING-001',
  'SCAM-001',
  'HIGHRISK-001',
  'DARKWEB-001',
  'VELOCITY-001',
]);

export interface Settings {
  readonly enabledRules: readonly RuleId[];
  readonly alertThreshold: Schemas['MonitoredWallet']['alertThreshold'];
  readonly alertFrequency: Schemas['MonitoredWallet']['alertFrequency'];
  readonly customWebhookUrl: string;
  readonly notes: string;
}

export const STANDARD_SETTINGS: Settings = {
  enabledRules: RULES,
  alertThreshold: 'all',
  alertFrequency: 'realtime',
  customWebhookUrl: '',
  notes: '',
};

interface SettingsProps {
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
}

/** The settings of a wallet: which alerts are raised and sent, how often, and where to. */
export function SettingFields(props: SettingsProps): ReactNode {
  return (
    <>
      <SendingFields {...props} />
      <RuleChoices {...props} />
    </>
  );
}

function SendingFields({ settings, onChange }: SettingsProps): ReactNode {
  const { t, word } = useI18n();
  return (
    <div className="inline-form">
      <Choice
        label={t('wallets.threshold')}
        value={settings.alertThreshold}
        options={THRESHOLDS.map((value) => ({ value, label: word('threshold', value) }))}
        onChange={(value) => onChange({ ...settings, alertThreshold: value as Settings['alertThreshold'] })}
      />
      <Choice
        label={t('wallets.frequency')}
        value={settings.alertFrequency}
        options={FREQUENCIES.map((value) => ({ value, label: word('frequency', value) }))}
        onChange={(value) => onChange({ ...settings, alertFrequency: value as Settings['alertFrequency'] })}
      />
      <Field
        label={t('wallets.webhook')}
        type="url"
        value={settings.customWebhookUrl}
        placeholder="https://"
        autoComplete="off"
        onChange={(event) => onChange({ ...settings, customWebhookUrl: event.target.value })}
      />
      <Field
        label={t('wallets.notes')}
        value={settings.notes}
        maxLength={NOTES_CHARS_MAX}
        autoComplete="off"
        onChange={(event) => onChange({ ...settings, notes: event.target.value })}
      />
    </div>
  );
}

/** The rules that raise alerts. */
function RuleChoices({ settings, onChange }: SettingsProps): ReactNode {
  const { t, word } = useI18n();
  const { enabledRules } = settings;
  return (
    <fieldset className="rules">
      <legend>{t('wallets.rules')}</legend>
      {RULES.map((rule) => (
        <label key={rule} className="check">
          <input
            type="checkbox"
            checked={enabledRules.includes(rule)}
            onChange={({ target }) =>
              onChange({
                ...settings,
                enabledRules: RULES.filter((one) =>
                  one === rule ? target.checked : enabledRules.includes(one),
                ),
              })
            }
          />
          {word('rule', rule)}
        </label>
      ))}
    </fieldset>
  );
}

interface LabelProps {
  readonly label: string;
  readonly onChange: (label: string) => void;
}

/** The name that the account gives a wallet. */
export function LabelField({ label, onChange }: LabelProps): ReactNode {
  const { t } = useI18n();
  return (
    <Field
      label={t('wallets.label')}
      value={label}
      maxLength={LABEL_CHARS_MAX}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
