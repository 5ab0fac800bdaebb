/** The language of the dashboard: chosen by the person, else that of the browser. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import en from './en.json';
import { createFormats, type Formats } from './formats.ts';
import {
  isMessageKey,
  LANGUAGES,
  type Language,
  loadMessages,
  type MessageKey,
  type Messages,
  type Translate,
  translator,
} from './messages.ts';

export interface I18n extends Formats {
  readonly language: Language;
  readonly setLanguage: (language: Language) => void;
  readonly t: Translate;
  /** Returns the word for a code of the server, such as `category` `MIXER`; a code without a word is returned as it is. */
  readonly word: (group: string, code: string) => string;
}

const STORED = 'assay.language';

const isLanguage = (text: string | null | undefined): text is Language =>
  typeof text === 'string' && Object.hasOwn(LANGUAGES, text);

/** Returns the language to begin with. */
export function firstLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en';
}

const Context = createContext<I18n | null>(null);

interface Loaded {
  readonly language: Language;
  readonly messages: Messages;
}

/** Provides the language to the components below it. */
export function I18nProvider({ first, children }: { first: Loaded; children: ReactNode }): ReactNode {
  const [{ language, messages }, setLoaded] = useState(first);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const value = useMemo((): I18n => {
    const t = translator(language, messages);
    return {
      ...createFormats(language),
      language,
      t,
      setLanguage(next) {
        localStorage.setItem(STORED, next);
        void loadMessages(next).then((loaded) => setLoaded({ language: next, messages: loaded }));
      },
      word: (group, code) => {
        const key = `${group}.${code}`;
        return isMessageKey(key) ? messages[key as MessageKey] : code;
      },
    };
  }, [language, messages]);
  return <Context value={value}>{children}</Context>;
}

const FALLBACK: Loaded = { language: 'en', messages: en };

/** Returns the texts to begin with; English if those of the language cannot be loaded. */
export async function firstMessages(): Promise<Loaded> {
  const language = firstLanguage();
  try {
    return { language, messages: await loadMessages(language) };
  } catch {
    return FALLBACK;
  }
}

/** Returns the texts and formats of the language. */
export function useI18n(): I18n {
  const value = useContext(Context);
  if (value === null) throw new Error('useI18n: no I18nProvider above.');
  return value;
}
