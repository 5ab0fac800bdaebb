/** Light, dark, or as the system is. */
import { useState } from 'react';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const STORED = 'assay.theme';

const isTheme = (text: string | null): text is Theme => THEMES.some((theme) => theme === text);

/** Returns the chosen theme. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return isTheme(stored) ? stored : 'system';
}

/** Sets the theme of the document. */
export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') delete dataset.theme;
  else dataset.theme = theme;
}

/** Returns the theme and a function that changes it. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(chosenTheme);
  return [
    theme,
    (next) => {
      localStorage.setItem(STORED, next);
      applyTheme(next);
      setTheme(next);
    },
  ];
}
