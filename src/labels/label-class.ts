/** Derives the class of a label from fields that every stored label has, so labels of earlier releases have one too. */
import type { EvidenceClass } from './evidence-class.ts';
import type { LabelTemplate } from './label.ts';
import { shippedSources } from './source-table.ts';

/**
 * Returns the class of a label: `list` if a sanctions list names the address itself, in force or history; otherwise the class
 * of its source.
 */
export const classOfLabel = ({
  source,
  sanctions,
}: Pick<LabelTemplate, 'source' | 'sanctions'>): EvidenceClass =>
  sanctions.some((entry) => entry.matchType === 'DIRECT') ? 'list' : shippedSources().classOf(source);
