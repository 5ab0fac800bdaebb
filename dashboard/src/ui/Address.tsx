/** Addresses and hashes: shortened in the middle, with their chain, a button to copy and a link. */

import { CHAINS } from 'assay:chains';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { IconButton } from './Button.tsx';
import { plainText } from './plain-text.ts';
import { shorten } from './shorten.ts';

export { shorten };

/** Milliseconds for which the button says that it has copied. */
const COPIED_MS = 1_500;

const chains = new Map(CHAINS.map((chain) => [chain.id, chain]));
export const chainOf = (id: string) => chains.get(id);

/** The mark of a chain: its id in a frame, with its name. */
export function ChainMark({ chain }: { readonly chain: string }): ReactNode {
  return (
    <abbr className="chain" title={chainOf(chain)?.name ?? chain}>
      {chain}
    </abbr>
  );
}

/** Copies a text. Browsers have a clipboard for scripts only over TLS, so there is the older way as well. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const before = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
}

interface CopyButtonProps {
  readonly text: string;
  /** Whether the name of the button has the text: a screen reader lists the buttons of a page, and all would be alike. Not for secrets. */
  readonly isNamed?: boolean;
}

/** Copies a text to the clipboard, and says so to screen readers as well. */
export function CopyButton({ text, isNamed = false }: CopyButtonProps): ReactNode {
  const { t } = useI18n();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <>
      <IconButton
        className="copy"
        icon={isCopied ? 'check' : 'copy'}
        name={isNamed ? t('ui.copyOf', { text: shorten(text) }) : t('ui.copy')}
        onClick={() => void copyText(text).then(() => setCopied(true))}
      />
      <span className="visually-hidden" aria-live="polite">
        {isCopied ? t('ui.copied') : ''}
      </span>
    </>
  );
}

interface AddressProps {
  readonly address: string;
  /** Null if the text is not of one chain. */
  readonly chain: string | null;
  /** Shows the whole address. */
  readonly isFull?: boolean;
  /** False: no link to its screening. */
  readonly isLink?: boolean;
}

/** A text in both forms: the style shows one of them. */
function Shortened({ text }: { readonly text: string }): ReactNode {
  return (
    <>
      <bdi className="mono short">{shorten(text)}</bdi>
      <bdi className="mono full">{text}</bdi>
    </>
  );
}

/**
 * An address: shortened in the middle, whole while it has the focus or the pointer, with a link to its screening. The text is never
 * interpreted, so a hostile one is inert.
 */
export function Address({ address, chain, isFull = false, isLink = true }: AddressProps): ReactNode {
  // A pasted text is shown before anything has checked it.
  const text = plainText(address);
  const shown = isFull ? <bdi className="mono">{text}</bdi> : <Shortened text={text} />;
  return (
    <span className={isFull ? 'address is-full' : 'address'}>
      {chain === null ? null : <ChainMark chain={chain} />}
      {chain !== null && isLink ? (
        <Link to={PATHS.screening} params={{ chain, address }} className="address-text" title={text}>
          {shown}
        </Link>
      ) : (
        <span className="address-text" title={text}>
          {shown}
        </span>
      )}
      <CopyButton text={address} isNamed />
    </span>
  );
}

/** An address in a row that leads to its details: shortened, without a link and a button. */
export function ShortAddress({ address }: { readonly address: string }): ReactNode {
  return (
    <span className="address">
      <span className="address-text" title={address}>
        <Shortened text={address} />
      </span>
    </span>
  );
}

/** The hash of a transaction, shortened like an address. */
export function TransactionHash({ hash }: { readonly hash: string }): ReactNode {
  return (
    <span className="address">
      <span className="address-text" title={hash}>
        <Shortened text={hash} />
      </span>
      <CopyButton text={hash} isNamed />
    </span>
  );
}
