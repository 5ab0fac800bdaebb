/** Advice beside results that are qualified because sanctions lists are missing or too old. */
import { freshnessOf, readListChecks, sourcesOfLists } from '../labels/freshness.ts';
import type { Reason } from '../screening/answers.ts';
import type { LookupServices } from './services.ts';

/**
 * Returns the command that helps if a result was qualified because lists are missing or too old.
 *
 * @param reasons - the reasons of the result, which name the lists
 * @returns a line for the terminal; none if the lists are fresh
 */
export function staleAdviceLines(
  reasons: readonly Pick<Reason, 'code'>[],
  services: () => Pick<LookupServices, 'bulkDeps' | 'store' | 'clock'>,
): readonly string[] {
  if (!reasons.some(({ code }) => code === 'STALE_OR_MISSING_DATA')) return [];
  const { bulkDeps, store, clock } = services();
  const { staleLists } = freshnessOf(readListChecks(store.folder), clock.now(), bulkDeps.listMaxAgeDays);
  if (staleLists.length === 0) return [];
  const sources = sourcesOfLists(staleLists).join(' ');
  return [
    `    Run \`assay sync ${sources}\`; without a network, \`assay lists\` shows the command for each list.`,
  ];
}
