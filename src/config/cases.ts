/** Settings: cases and saved screenings. */
import { number, onOff } from './readers.ts';
import { setting } from './setting.ts';

/** Days of a hundred years. */
const DAYS_MAX = 36_525;
const days = number(1, DAYS_MAX, true);

export const casesSettings = {
  caseFourEyes: setting(
    'ASSAY_CASE_FOUR_EYES',
    'off',
    onOff,
    '`on`: every new case has the four-eyes rule: one person proposes a decision, and another one approves it. `off`: a case has the rule if its creator asks for it.',
  ),
  caseRetentionDays: setting(
    'ASSAY_CASE_RETENTION_DAYS',
    '',
    (text, variable): number | null => (text === '' ? null : days(text, variable)),
    'Days after closing for which a case, its history and its files are kept; then they are deleted. Empty: nothing is deleted. Cases that are not closed are never deleted. Nodes with the role `api` need the same value.',
  ),
  screeningRetentionDays: setting(
    'ASSAY_SCREENING_RETENTION_DAYS',
    '',
    (text, variable): number | null => (text === '' ? null : days(text, variable)),
    'Days for which a saved screening is kept; then it is deleted. Empty: nothing is deleted. A case keeps its own copy of a linked answer. Nodes with the role `api` need the same value.',
  ),
} as const;
