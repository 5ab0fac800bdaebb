/** The parts of a screening that a client asked for: named sections, and the first rows of each list. */
import type { ScreeningAnswer } from './answers.ts';
import { SCREENING_SECTIONS, type ScreeningSection } from './choices.ts';

/** Lists with rows ordered by weight or time, so that the first ones are the most useful. The points of a score are not cut. */
const LISTS = [
  'entityLabels',
  'labelConflicts',
  'flaggedTransactions',
  'spoofableTransfers',
  'topCounterparties',
  'exposures',
  'stoppedAt',
  'fundFlowJurisdictions',
  'historicalServices',
] as const satisfies readonly ScreeningSection[];

/** The options of a request that choose the parts of its answer. */
export interface SectionChoice {
  /** Names of sections. Default: all. */
  readonly sections?: readonly string[];
  /** Maximum number of rows in each list. Default: all. */
  readonly limit?: number;
}

/** Returns the answer with the chosen parts. The schema of the request has checked the names and the bounds. */
export function chosenSections(
  answer: ScreeningAnswer,
  { sections, limit }: SectionChoice,
): Partial<ScreeningAnswer> {
  let chosen: Partial<ScreeningAnswer> = answer;
  if (limit !== undefined) {
    const { transactionFlow } = answer;
    const { daily } = transactionFlow;
    const lists = LISTS.map((name) => [name, answer[name].slice(0, limit)] as const);
    const isCut = daily.length > limit;
    chosen = {
      ...answer,
      ...Object.fromEntries(lists),
      transactionFlow: {
        ...transactionFlow,
        daily: daily.slice(0, limit),
        dailyIsComplete: transactionFlow.dailyIsComplete && !isCut,
      },
    };
  }
  if (sections === undefined) return chosen;
  const left = new Set<string>(SCREENING_SECTIONS.filter((name) => !sections.includes(name)));
  return Object.fromEntries(Object.entries(chosen).filter(([name]) => !left.has(name)));
}
