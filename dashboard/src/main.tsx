/** Starts the dashboard. */
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSessionEnds } from './api/client.ts';
import { forgetSession, queries, whenPersonChanges } from './api/session.ts';
import { firstMessages, I18nProvider } from './i18n/index.tsx';
import { router } from './router.tsx';
import { keepScroll } from './shell/scroll.ts';
import { handleKey } from './shell/shortcuts.ts';
import { applyTheme, chosenTheme } from './shell/theme.ts';
import { copyWhole } from './ui/copy-whole.ts';
import { keepFocusInPart } from './ui/focus.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/ui.css';
import './styles/work.css';
import './styles/print.css';

applyTheme(chosenTheme());
document.addEventListener('keydown', handleKey);
document.addEventListener('copy', copyWhole);
keepFocusInPart();
keepScroll(router);

whenSessionEnds(() => {
  forgetSession();
  // The route of the page finds no session, and leads to the login and back.
  void router.invalidate();
});

// What this page shows and has in memory belongs to somebody else. The next one clears the tab.
whenPersonChanges(() => location.reload());

const place = document.getElementById('root');
if (place === null) throw new Error('The document has no element for the dashboard.');

const messages = await firstMessages();
createRoot(place).render(
  <StrictMode>
    <I18nProvider first={messages}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </I18nProvider>
  </StrictMode>,
);
