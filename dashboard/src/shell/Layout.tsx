/** The frame of all pages for people who are logged in: bar, navigation, content. */
import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { pageWaits } from '../api/patience.ts';
import { sessionQuery } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { SearchForm } from '../search/SearchForm.tsx';
import { IconButton } from '../ui/Button.tsx';
import { Icon } from '../ui/icons.tsx';
import { AccountMenu } from './AccountMenu.tsx';
import { Help } from './Help.tsx';
import { CheckedOutlet } from './LinkCheck.tsx';
import { DOCUMENTS, NAVIGATION, type NavigationEntry } from './navigation.ts';
import { Preferences } from './Preferences.tsx';
import { useShortcut } from './shortcuts.ts';

/** Moves the focus to the content after a navigation, so that screen readers and the keyboard begin there. */
function useFocusAfterNavigation(): React.RefObject<HTMLElement | null> {
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const before = useRef(path);
  useEffect(() => {
    if (before.current !== path) main.current?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
  return main;
}

/** Returns the pages that this person may open, in their groups. */
function useNavigation(): readonly (readonly NavigationEntry[])[] {
  const { data: session } = useQuery(sessionQuery);
  return NAVIGATION.map((group) =>
    group.filter(({ isForOperators }) => isForOperators !== true || session?.operator === true),
  );
}

function Navigation({ onFollow }: { readonly onFollow?: () => void }): ReactNode {
  const { t } = useI18n();
  const groups = useNavigation();
  return (
    <>
      <nav aria-label={t('nav.pages')}>
        {groups.map((entries) => (
          <ul key={entries[0]?.to} className="nav-group">
            {entries.map(({ to, label, icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  className="nav-link"
                  activeOptions={{ exact: to === PATHS.home }}
                  onClick={onFollow}
                >
                  <Icon name={icon} />
                  {t(label)}
                </Link>
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <section className="nav-end" aria-label={t('nav.more')}>
        <ul>
          {DOCUMENTS.map(({ href, label }) => (
            <li key={href}>
              <a href={href} className="nav-link">
                <Icon name="external" />
                {t(label)}
              </a>
            </li>
          ))}
        </ul>
        <Preferences />
      </section>
    </>
  );
}

/** The navigation of narrow screens, behind a button. */
function NarrowNavigation(): ReactNode {
  const { t } = useI18n();
  const [isOpen, setOpen] = useState(false);
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger render={<IconButton className="only-narrow" icon="menu" name={t('nav.open')} />} />
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="drawer">
          <div className="section-header">
            <Dialog.Title className="brand">Assay</Dialog.Title>
            <Dialog.Close render={<IconButton icon="close" name={t('ui.close')} />} />
          </div>
          <Navigation onFollow={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** A shortcut for each page of the navigation. */
function PageShortcut({ keys, to, label }: NavigationEntry): ReactNode {
  const navigate = useNavigate();
  useShortcut(keys, label, () => void navigate({ to }));
  return null;
}

/** Says that requests of the page wait for the rate limit: a page that only loads, for up to a minute, looks broken. */
function Waiting(): ReactNode {
  const { t } = useI18n();
  const until = useSyncExternalStore(pageWaits.subscribe, pageWaits.until);
  if (until === null) return null;
  return (
    <p role="status" className="note page-note">
      {t('alerts.waiting', { seconds: Math.max(1, Math.ceil((until - Date.now()) / 1_000)) })}
    </p>
  );
}

/** The layout. */
export function Layout(): ReactNode {
  const { t } = useI18n();
  const main = useFocusAfterNavigation();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const groups = useNavigation();
  const isHome = useRouterState({ select: ({ location }) => location.pathname === PATHS.home });
  useShortcut('?', 'help.open', () => setHelpOpen(true));
  useShortcut('/', 'help.search', () => document.querySelector<HTMLElement>('#search')?.focus());
  return (
    <div className="app">
      {groups.flat().map((entry) => (
        <PageShortcut key={entry.to} {...entry} />
      ))}
      <a href="#content" className="skip-link">
        {t('nav.skip')}
      </a>
      <header className="bar">
        <NarrowNavigation />
        <Link to={PATHS.home} className="brand">
          Assay
        </Link>
        <div className="bar-search">{isHome ? null : <SearchForm isCompact />}</div>
        <IconButton icon="help" name={t('help.title')} onClick={() => setHelpOpen(true)} />
        <AccountMenu />
      </header>
      <div className="side">
        <Navigation />
      </div>
      <main id="content" ref={main} tabIndex={-1}>
        <Waiting />
        <CheckedOutlet />
      </main>
      <Help isOpen={isHelpOpen} onChange={setHelpOpen} />
    </div>
  );
}
