/** The fields of a screening that a wallet stores. */
import type { ScreeningAnswer } from '../screening/answers.ts';
import type { MonitoredWallet } from './records.ts';

export type WalletScreening = Pick<
  MonitoredWallet,
  'riskScore' | 'riskLevel' | 'assessed' | 'coverage' | 'screenedAtMs'
>;

/**
 * Reads the fields from the JSON of a screening.
 *
 * @param json - the `data` of a screening
 */
export function readScreening(json: Uint8Array): WalletScreening {
  const answer = JSON.parse(Buffer.from(json).toString()) as ScreeningAnswer;
  const { riskScore, riskLevel, assessed, coverage, screenedAt } = answer;
  return { riskScore, riskLevel, assessed, coverage, screenedAtMs: Date.parse(screenedAt) };
}
