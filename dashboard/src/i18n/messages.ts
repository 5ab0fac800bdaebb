/** The texts of the dashboard in one language, formatted by ICU MessageFormat. */
import { IntlMessageFormat, type PrimitiveType } from 'intl-messageformat';
import en from './en.json';

export const LANGUAGES = { en: 'English', de: 'Deutsch', fr: 'Français' } as const;
export type Language = keyof typeof LANGUAGES;

export type MessageKey = keyof typeof en;
export type Messages = Readonly<Record<MessageKey, string>>;
export type Values = Readonly<Record<string, PrimitiveType>>;

/** Returns the text of a key. */
export type Translate = (key: MessageKey, values?: Values) => string;

/** Returns the texts of a language. English is always there, the others are files of their own. */
export async function loadMessages(language: Language): Promise<Messages> {
  if (language === 'de') return (await import('./de.json')).default;
  if (language === 'fr') return (await import('./fr.json')).default;
  return en;
}

/** Creates the function that formats texts. */
export function translator(language: Language, messages: Messages): Translate {
  const formats = new Map<MessageKey, IntlMessageFormat>();
  return (key, values) => {
    const text = messages[key];
    // Most texts have no arguments and need no parser.
    if (values === undefined) return text;
    let format = formats.get(key);
    if (format === undefined) {
      format = new IntlMessageFormat(text, language, undefined, { ignoreTag: true });
      formats.set(key, format);
    }
    return String(format.format(values));
  };
}

/** Whether a text is a key. Codes of the server, such as categories, may be newer than the texts. */
export const isMessageKey = (key: string): key is MessageKey => Object.hasOwn(en, key);
