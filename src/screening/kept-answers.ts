/**
 * Keeps the JSON text of screenings of account chains, so that a repeated screening of an address is not computed again as long as it would
 * have the same result. Only the time of the screening is new.
 */
import { isoTime } from '../base/clock.ts';
import { maxKeyBytes, writeAddressKeyFromText } from '../chains/address/parse.ts';
import { type ChainId, chainOf, parseChainId } from '../chains/registry.ts';
import { AnswerRing } from './answer-ring.ts';
import type { Assessor } from './assess.ts';
import type { LabelContext } from './context.ts';
import type { ScreeningDeps } from './deps.ts';
import { SCREENING_LIMITS } from './limits.ts';
import type { ScreeningFacts, ScreeningRequest } from './screen.ts';
import { parseSubject } from './subject.ts';

const scratch = new Uint8Array(maxKeyBytes);
const TIME_MARK = Buffer.from('"screenedAt":"');
const TIME_LENGTH = '2026-01-01T00:00:00.000Z'.length;
const TIME_END = '"}'.length;

/** Returns where the time of a screening begins; null unless it is the last field. */
function timeAt(json: Uint8Array): number | null {
  const at = json.length - TIME_LENGTH - TIME_END;
  const mark = at - TIME_MARK.length;
  return mark > 0 && TIME_MARK.equals(json.subarray(mark, at)) ? at : null;
}

/** The screenings of one thread. */
export interface KeptAnswers {
  /**
   * Returns the kept answer to a request with the time of now, or the answer that `compute` returns, which is then kept.
   *
   * @param compute - returns the JSON text of an answer with `screenedAt` as its last field
   * @returns bytes that are valid until the next call
   * @throws UNKNOWN_CHAIN or INVALID_ADDRESS; the errors of `compute`, which are not kept
   */
  answer(request: ScreeningRequest, facts: ScreeningFacts, compute: () => Uint8Array): Uint8Array;
}

/**
 * Creates the memory of one thread. An answer depends on its request, its state, the labels and lists, and what is fixed when a thread starts
 * (policy, tokens, laws). Chains with transaction outputs are not kept: their answers also depend on outputs and clusters.
 *
 * @param bytesMax - default: SCREENING_LIMITS.keptAnswerBytes
 */
export function createKeptAnswers(
  { transfers, assets, clock }: Pick<ScreeningDeps, 'transfers' | 'assets' | 'clock'>,
  { context }: Pick<Assessor, 'context'>,
  bytesMax: number = SCREENING_LIMITS.keptAnswerBytes,
): KeptAnswers {
  /** By request and state: an answer of an earlier state is not found again, and is overwritten in its turn. */
  const kept = new AnswerRing(bytesMax);
  /** The labels and lists of all kept answers: another object if either changed. */
  let heldBy: LabelContext | null = null;

  /** Forgets all answers if labels or lists have changed. They would not be used again, and would keep an earlier snapshot open. */
  function holdBy(now: LabelContext): void {
    if (heldBy === now) return;
    kept.clear();
    heldBy = now;
  }

  /** What an answer depends on besides its request: the day (law in force), the transfers of the chain, and the price tables. */
  function stateOf(chain: ChainId): readonly unknown[] {
    const { transfers: count, firstBlock, lastBlock, asOf } = transfers.coverage(chain);
    const version = transfers.graph(chain)?.version ?? '';
    const day = isoTime(clock.now()).slice(0, 10);
    return [day, version, count, firstBlock, lastBlock, asOf, assets.pricesVersion?.() ?? ''];
  }

  return {
    answer(request, facts, compute) {
      const chain = parseChainId(request.chain);
      // Only an address that this does not read is parsed, for its error: its canonical text would cost a hash, and a screening needs it once.
      if (writeAddressKeyFromText(chain, request.address, scratch, 0) < 0)
        parseSubject(chain, request.address);
      if (request.withEvidence || chainOf(chain).family === 'utxo') return compute();
      holdBy(context());
      const name = JSON.stringify([request, facts, stateOf(chain)]);
      const known = kept.get(name);
      if (known !== null) {
        known.write(isoTime(clock.now()), timeAt(known) as number, 'latin1');
        return known;
      }
      const json = compute();
      // One answer must not displace a considerable part of the others.
      if (json.length <= bytesMax / 16 && timeAt(json) !== null) kept.set(name, json);
      return json;
    },
  };
}
