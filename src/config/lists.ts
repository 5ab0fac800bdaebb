/** Settings: sanctions lists, their refresh, and your own links between entities and listed parties. */
import { number, onOff, optionalFolder, optionalHeaderText, optionalUrl } from './readers.ts';
import { setting } from './setting.ts';

export const listsSettings = {
  syncEnabled: setting('ASSAY_SYNC', 'on', onOff, '`off`: `serve` never downloads lists automatically.'),
  syncIntervalHours: setting(
    'ASSAY_SYNC_INTERVAL_HOURS',
    '6',
    number(0.01, 24 * 30, false),
    'Hours between two refreshes of the lists (with jitter).',
  ),
  syncFrom: setting('ASSAY_SYNC_FROM', '', optionalUrl, 'Base URL of a mirror that replaces all publishers.'),
  fcaEmail: setting(
    'ASSAY_FCA_EMAIL',
    '',
    optionalHeaderText,
    'Email address of your account for the API of the FCA register (https://register.fca.org.uk/Developer/s/). Needs ASSAY_FCA_KEY.',
  ),
  fcaKey: setting(
    'ASSAY_FCA_KEY',
    '',
    optionalHeaderText,
    'Key of that account. With both, `assay sync fca` downloads the known cryptoasset firms of the FCA register.',
  ),
  attributeMinutes: setting(
    'ASSAY_ATTRIBUTE_MINUTES',
    '30',
    number(0.05, 60 * 24 * 30, false),
    'Least time in minutes between two publications of labels that a server derives from the chains to which `assay attribute` was applied. Evidence follows each block.',
  ),
  listMaxAgeDays: setting(
    'ASSAY_LIST_MAX_AGE_DAYS',
    '7',
    number(0.01, 3650, false),
    'Days since the last successful check after which a sanctions list is stale.',
  ),
  readyNeedsFreshLists: setting(
    'ASSAY_READY_NEEDS_FRESH_LISTS',
    'off',
    onOff,
    '`on`: /ready returns 503 while a list is missing or stale.',
  ),
  entityParties: setting(
    'ASSAY_ENTITY_PARTIES',
    '',
    optionalFolder,
    'File with your own links between entities of labels and listed parties, in the format of data/entity-parties.json. Its rows are added to the shipped ones.',
  ),
} as const;
