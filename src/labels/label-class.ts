/** The class of a label, derived from what every stored label has: so labels of earlier releases have one too. */
import type { EvidenceClass } from './evidence-class.ts';
import type { LabelTemplate } from './label.ts';
import { shippedSources } from './source-table.ts';

/**
 * The class of a label: `list` if it carries the word of a sanctions list on the address itself, in force or history; else the
 * class of its source.
 */
export const classOfLabel = ({
  source,
  sanctions,
}: Pick<LabelTemplate, 'source' | 'sanctions'>): EvidenceClass =>
  sanctions.some((entry) => entry.matchType === 'DIRECT') ? 'list' : shippedSources().classOf(source);
