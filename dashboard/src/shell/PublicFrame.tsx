/** The frame of the pages for people who are not logged in. */
import type { ReactNode } from 'react';
import { Preferences } from './Preferences.tsx';

/** A narrow column in the middle. */
export function PublicFrame({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <div className="public">
      <header className="public-brand">Assay</header>
      <main>{children}</main>
      <footer>
        <Preferences />
      </footer>
    </div>
  );
}
