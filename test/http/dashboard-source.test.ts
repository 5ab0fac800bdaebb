/** The source of the dashboard against the API: its types, and the words for codes. Its build checks neither. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LEDGER_TYPES } from '../../src/accounts/credits.ts';
import { PERMISSIONS } from '../../src/accounts/keys.ts';
import { ROLES } from '../../src/accounts/roles.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import { ALERT_STATUSES, ALERT_THRESHOLDS, RULE_IDS, SEVERITIES } from '../../src/monitoring/records.ts';
import { LISTS } from '../../src/sources/lists.ts';
import { execFileSync } from '../support/child-process.ts';

/** Codes by the group of their words: the first argument of `word` in dashboard/src. */
const CODES: Readonly<Record<string, readonly string[]>> = {
  alertStatus: ALERT_STATUSES,
  category: [...CATEGORIES, 'UNKNOWN'],
  ledger: LEDGER_TYPES,
  list: LISTS.ids,
  permission: PERMISSIONS,
  risk: SEVERITIES,
  role: ROLES,
  rule: RULE_IDS,
  threshold: ALERT_THRESHOLDS,
};

it('the types of the dashboard are those of the API', () => {
  const compiler = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', 'dashboard'], { cwd: projectRoot, encoding: 'utf8' });
  } catch (error) {
    expect.fail((error as { readonly stdout: string }).stdout);
  }
});

// The compiler checks that the other languages have the keys of English.
const words = JSON.parse(
  readFileSync(join(projectRoot, 'dashboard', 'src', 'i18n', 'en.json'), 'utf8'),
) as Readonly<Record<string, string>>;

it.each(Object.entries(CODES))('the dashboard has a word for each code of %s', (group, codes) => {
  expect(codes.filter((code) => !Object.hasOwn(words, `${group}.${code}`))).toEqual([]);
});
