/**
 * Starts `/verify` as a file of its own: build.mjs puts this script and the styles into one document, which people keep and open from their
 * disk, also when no server is left.
 */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { firstMessages, I18nProvider } from '../../i18n/index.tsx';
import { PublicFrame } from '../../shell/PublicFrame.tsx';
import { applyTheme, chosenTheme } from '../../shell/theme.ts';
import '../../styles/tokens.css';
import '../../styles/base.css';
import '../../styles/shell.css';
import '../../styles/ui.css';
import '../../styles/work.css';
import { VerifyPage } from './index.tsx';

applyTheme(chosenTheme());
const place = document.getElementById('root');
if (place === null) throw new Error('The document has no element for the page.');
void firstMessages().then((messages) =>
  createRoot(place).render(
    <StrictMode>
      <I18nProvider first={messages}>
        <PublicFrame>
          <VerifyPage />
        </PublicFrame>
      </I18nProvider>
    </StrictMode>,
  ),
);
