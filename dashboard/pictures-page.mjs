/** Writes the page of the guide that shows the pictures of the dashboard: what `screenshots.mjs --docs` has put into the folder. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const docs = join(import.meta.dirname, '..', 'docs');
const LOOKS = [
  ['light', 'light'],
  ['dark', 'dark'],
  ['360', 'on a telephone'],
];

/** Headings of the page, and the first parts of the names of their pictures, in the order of the navigation. */
const PARTS = [
  ['Log in', ['login', 'register', 'invite', 'not-found']],
  ['Home and lists', ['home', 'addresses']],
  ['Screening', ['screening', 'screening-counterparties', 'screening-transfers', 'screening-law']],
  ['Screenings of a sanctioned and of an unknown address', ['screening-sanctioned', 'screening-nobody']],
  ['Saved screenings', ['saved']],
  ['Trace', ['trace']],
  ['Transactions', ['transaction', 'transaction-unknown']],
  ['Names and exchanges', ['names', 'exchanges']],
  ['Bulk jobs', ['bulk', 'bulk-file', 'bulk-job']],
  ['Alerts and the delivery log', ['alerts', 'deliveries']],
  ['Cases', ['cases', 'case']],
  ['Wallets', ['wallets']],
  ['Keys', ['keys', 'keys-new', 'keys-one']],
  ['Usage and credits', ['usage', 'billing']],
  ['People, your account and the audit log', ['people', 'account', 'account-totp', 'audit']],
  ['Channels and status', ['channels', 'status']],
  [
    'The installation',
    ['health', 'labels', 'chains', 'queues', 'nodes', 'imports'].map((tab) => `operator-${tab}`),
  ],
];

/** Writes the page. */
export function writePicturesPage() {
  const files = new Set(readdirSync(join(docs, 'images', 'dashboard')));
  const sections = PARTS.flatMap(([title, names]) => {
    const lines = names.flatMap((name) =>
      LOOKS.flatMap(([look, word]) =>
        files.has(`${name}-${look}.webp`)
          ? [`![${name.replaceAll('-', ' ')}, ${word}](../images/dashboard/${name}-${look}.webp)`]
          : [],
      ),
    );
    return lines.length === 0 ? [] : [`## ${title}\n\n${lines.join('\n\n')}\n`];
  });
  const head =
    '# The dashboard in pictures\n\nEvery page with the data of the tests, in light and dark colours and 360 pixels wide. ' +
    '`node dashboard/screenshots.mjs --docs`\ntakes the pictures and writes this page.\n';
  writeFileSync(join(docs, 'guides', 'dashboard-pictures.md'), [head, ...sections].join('\n'));
}

if (process.argv[1] === import.meta.filename) writePicturesPage();
