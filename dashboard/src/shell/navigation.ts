/** The entries of the navigation, in their order: look up, watch, the account. A page that does not exist yet has none. */
import type { MessageKey } from '../i18n/messages.ts';
import { PATHS } from '../paths.ts';
import type { IconName } from '../ui/icons.tsx';

export interface NavigationEntry {
  readonly to: string;
  readonly label: MessageKey;
  readonly icon: IconName;
  /** Shortcut that opens the page. */
  readonly keys: string;
  /** Shown to people who operate the installation only. The server checks that too. */
  readonly isForOperators?: true;
}

export const NAVIGATION: readonly (readonly NavigationEntry[])[] = [
  [
    { to: PATHS.home, label: 'nav.home', icon: 'home', keys: 'g h' },
    { to: PATHS.addresses, label: 'nav.addresses', icon: 'list', keys: 'g l' },
    { to: PATHS.names, label: 'nav.names', icon: 'users', keys: 'g n' },
    { to: PATHS.exchanges, label: 'nav.exchanges', icon: 'building', keys: 'g x' },
    { to: PATHS.saved, label: 'nav.saved', icon: 'bookmark', keys: 'g s' },
    { to: PATHS.bulk, label: 'nav.bulk', icon: 'stack', keys: 'g b' },
  ],
  [
    { to: PATHS.alerts, label: 'nav.alerts', icon: 'bell', keys: 'g a' },
    { to: PATHS.cases, label: 'nav.cases', icon: 'folder', keys: 'g c' },
    { to: PATHS.wallets, label: 'nav.wallets', icon: 'eye', keys: 'g w' },
    { to: PATHS.reports, label: 'nav.reports', icon: 'flag', keys: 'g r' },
  ],
  [
    { to: PATHS.keys, label: 'nav.keys', icon: 'key', keys: 'g k' },
    { to: PATHS.usage, label: 'nav.usage', icon: 'gauge', keys: 'g u' },
    { to: PATHS.billing, label: 'nav.billing', icon: 'coins', keys: 'g d' },
    { to: PATHS.people, label: 'nav.people', icon: 'user', keys: 'g p' },
    { to: PATHS.audit, label: 'nav.audit', icon: 'log', keys: 'g o' },
    { to: PATHS.channels, label: 'nav.channels', icon: 'send', keys: 'g m' },
    { to: PATHS.status, label: 'nav.status', icon: 'pulse', keys: 'g i' },
    { to: PATHS.operator, label: 'nav.operator', icon: 'server', keys: 'g y', isForOperators: true },
  ],
];

/** Pages that the server sends itself, outside of the dashboard. */
export const DOCUMENTS: readonly { readonly href: string; readonly label: MessageKey }[] = [
  { href: '/docs/guide', label: 'nav.guide' },
  { href: '/docs/api', label: 'nav.api' },
];
