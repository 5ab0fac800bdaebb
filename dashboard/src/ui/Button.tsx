/** Buttons, and links that look like them. */
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'plain' | 'quiet';
  readonly icon?: IconName;
  /** The action runs: the button stays in place and cannot be pressed again. */
  readonly isBusy?: boolean;
}

/** A button; its children are its name. */
export function Button({ kind = 'plain', icon, isBusy = false, children, ...rest }: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind}`}
      aria-disabled={isBusy || undefined}
      onClick={isBusy ? (event) => event.preventDefault() : rest.onClick}
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
