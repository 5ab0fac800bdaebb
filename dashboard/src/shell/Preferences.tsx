/** The choice of language and theme. */
import type { ReactNode } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { LANGUAGES, type Language } from '../i18n/messages.ts';
import { Choice } from '../ui/Field.tsx';
import { THEMES, type Theme, useTheme } from './theme.ts';

/** Two choices beside each other. */
export function Preferences(): ReactNode {
  const { t, language, setLanguage } = useI18n();
  const [theme, setTheme] = useTheme();
  return (
    <div className="preferences">
      <Choice
        label={t('nav.language')}
        isLabelHidden
        value={language}
        options={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
        onChange={(value) => setLanguage(value as Language)}
      />
      <Choice
        label={t('nav.theme')}
        isLabelHidden
        value={theme}
        options={THEMES.map((value) => ({ value, label: t(`theme.${value}`) }))}
        onChange={(value) => setTheme(value as Theme)}
      />
    </div>
  );
}
