/** Money, numbers and times. An unknown value is a word, never a zero and never empty. */
import type { ReactNode } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { plainText } from './plain-text.ts';

/** The word for an unknown value. */
export function NotKnown(): ReactNode {
  const { t } = useI18n();
  return <span className="not-known">{t('ui.notKnown')}</span>;
}

/** An amount of US dollars; null if nothing has a price. */
export function Money({ usd }: { readonly usd: number | null | undefined }): ReactNode {
  const { usd: format } = useI18n();
  return typeof usd === 'number' ? <span className="number">{format(usd)}</span> : <NotKnown />;
}

/** A share in percent, 0 to 100. */
export function Percent({ value }: { readonly value: number | null | undefined }): ReactNode {
  const { percent } = useI18n();
  return typeof value === 'number' ? <span className="number">{percent(value)}</span> : <NotKnown />;
}

/** A time in UTC; the local time appears on hover. */
export function Time({ iso }: { readonly iso: string | null | undefined }): ReactNode {
  const { time, localTime } = useI18n();
  if (iso === null || iso === undefined || iso === '') return <NotKnown />;
  return (
    <time dateTime={iso} title={localTime(iso)} className="number">
      {time(iso)}
    </time>
  );
}

/** A name of a label may have 10 kB; no real one is longer than this. */
const NAME_CHARS_MAX = 160;
/** Names of this length are cut off in narrow columns. */
const NAME_TITLE_FROM = 24;
/** A tooltip of more characters covers the page. */
const NAME_TITLE_MAX = 400;

/** A name that somebody else chose. Its direction does not change that of the text around it, and it never becomes markup. */
export function Name({ text }: { readonly text: string }): ReactNode {
  const shown = plainText(text);
  return (
    <bdi className="name" title={shown.length > NAME_TITLE_FROM ? shown.slice(0, NAME_TITLE_MAX) : undefined}>
      {shown.length > NAME_CHARS_MAX ? `${shown.slice(0, NAME_CHARS_MAX)}…` : shown}
    </bdi>
  );
}

/** A sentence of the server, which is English in every language. It may contain names that somebody else chose. */
export function ServerText({ text }: { readonly text: string }): ReactNode {
  const shown = plainText(text);
  return (
    <bdi lang="en">
      {shown.length > SENTENCE_CHARS_MAX ? `${shown.slice(0, SENTENCE_CHARS_MAX)}…` : shown}
    </bdi>
  );
}

/** The longest sentence without names has 300 characters. */
const SENTENCE_CHARS_MAX = 1_000;
