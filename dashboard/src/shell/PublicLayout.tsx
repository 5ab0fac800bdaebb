/** The frame of the pages for people who are not logged in. */
import { Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Preferences } from './Preferences.tsx';

/** A narrow column in the middle. */
export function PublicLayout(): ReactNode {
  return (
    <div className="public">
      <header className="public-brand">Assay</header>
      <main>
        <Outlet />
      </main>
      <footer>
        <Preferences />
      </footer>
    </div>
  );
}
