/** Buttons, and links that look like them. */
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'plain' | 'quiet';
  readonly icon?: IconName;
  /** The action runs: the button stays in place and cannot be pressed again. Give it for every action of the server, also while none runs. */
  readonly isBusy?: boolean;
}

/**
 * Whether a click must do nothing: the action runs, or the click is the second one of a double click. That one may come before the page has
 * noted that the action runs, and a second action may cost credits.
 *
 * @param detail - clicks in succession at the same place; 0 for a key
 */
export const isRefused = (isBusy: boolean | undefined, detail: number): boolean =>
  isBusy === true || (isBusy === false && detail > 1);

/** A button; its children are its name. */
export function Button({ kind = 'plain', icon, isBusy, children, ...rest }: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind}`}
      aria-disabled={isBusy || rest['aria-disabled']}
      onClick={(event) => {
        if (isRefused(isBusy, event.detail)) event.preventDefault();
        else rest.onClick?.(event);
      }}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that shows an icon only. */
export function IconButton({
  icon,
  name,
  ...rest
}: { readonly icon: IconName; readonly name: string } & ButtonHTMLAttributes<HTMLButtonElement>): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={`icon-button ${rest.className ?? ''}`}
      aria-label={name}
      title={name}
    >
      <Icon name={icon} />
    </button>
  );
}
