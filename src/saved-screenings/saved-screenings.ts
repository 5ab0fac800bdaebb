/** The service of saved screenings: takes the facts from an answer, stores it with its charge, and compares two of them. */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import { timeOf } from '../base/iso-times.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type RowBilling, type StagedCharge, StagedPurchases } from '../base/staged-purchases.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import type { RiskLevel } from '../risk/policy.ts';
import { savedAnswer } from './answers.ts';
import { compareAnswers } from './compare/compare.ts';
import { packed, sha256Of, storedText } from './content.ts';
import { type JsonObject, numberOf, objectOf, textOf } from './json.ts';
import { SAVED_LIMITS } from './limits.ts';
import type { ListVersion, SavedKind, SavedScreening, StagedScreening } from './records.ts';
import type { AnswerToSave, SavedQuery, SavedScreenings, Saver } from './service.ts';
import type { SavedFilter, SavedPage, SavedStore } from './store.ts';

export interface SavedScreeningsOptions {
  /** Version of the program, for the record of each answer. */
  readonly softwareVersion: string;
  /** Whether other nodes may work on the same purchases. */
  readonly isShared: boolean;
}

export interface SavedScreeningsDeps {
  readonly store: SavedStore;
  readonly billing: RowBilling<StagedScreening>;
  /** Returns the age of each sanctions list. */
  readonly lists: () => readonly ListVersion[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

const CLOSE_BRACE = 0x7d;

/** Returns the text of an answer with its id as the last member. */
function withId(data: Uint8Array, id: string): Buffer {
  if (data.at(-1) !== CLOSE_BRACE)
    throw new AssayError('INTERNAL', 'An answer that is to be saved is not a JSON object.');
  return Buffer.concat([data.subarray(0, -1), Buffer.from(`,"screeningId":"${id}"}`)]);
}

/** Returns the addresses of an answer as it shows them: of the screened address, or of the parties of a transfer. */
function addressesOf(answer: JsonObject): readonly string[] {
  const parties = [answer.from, answer.to, answer.address].map((party) =>
    typeof party === 'string' ? party : textOf(objectOf(party).address),
  );
  return parties.filter((address) => address !== null);
}

/** Returns the filter of a query. */
function filterOf(
  kinds: readonly SavedKind[],
  { chain, address, riskLevel, from, to }: SavedQuery,
): SavedFilter {
  if (address !== undefined && chain === undefined) throw refuse('chain', 'is required with an address.');
  const chainId = chain === undefined ? null : parseChainId(chain);
  return {
    kinds,
    ...(chainId === null ? {} : { chain: chainId }),
    ...(chainId === null || address === undefined
      ? {}
      : { address: parseAddress(chainId, address).canonical }),
    ...(riskLevel === undefined ? {} : { riskLevel }),
    ...(from === undefined ? {} : { fromMs: timeOf('from', from) }),
    ...(to === undefined ? {} : { toMs: timeOf('to', to) }),
  };
}

class StoredScreenings implements SavedScreenings {
  readonly #options: SavedScreeningsOptions;
  readonly #deps: SavedScreeningsDeps;
  readonly #store: SavedStore;
  readonly #newId: () => string;
  readonly #purchases: StagedPurchases<StagedScreening>;

  constructor(options: SavedScreeningsOptions, deps: SavedScreeningsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#store = deps.store;
    this.#newId = createIds(deps);
    this.#purchases = new StagedPurchases(
      {
        what: 'screening',
        graceMs: options.isShared ? SAVED_LIMITS.stagedScreeningMs : 0,
        lookRows: SAVED_LIMITS.stagedScreeningsLook,
        describe: ({ screening, charge, isAbandoned }) => ({
          id: screening.id,
          stagedAtMs: screening.savedAtMs,
          isRepeatable: charge.keep !== null,
          isAbandoned,
        }),
      },
      { ...deps, rows: deps.store.staged, onActive: () => {} },
    );
  }

  async save(
    saver: Saver,
    { kind, request, data }: AnswerToSave,
    charge: StagedCharge,
    beginCharge: () => void,
  ): ReturnType<SavedScreenings['save']> {
    const { staged } = this.#store;
    const id = this.#newId();
    const text = withId(data, id);
    if (text.length > SAVED_LIMITS.savedAnswerBytesMax)
      throw refuse(
        'save',
        `the answer has ${text.length} bytes, and at most ${SAVED_LIMITS.savedAnswerBytesMax} are saved; request fewer sections, or set a limit of rows.`,
      );
    const content = packed(text);
    const screening = this.#screening(saver, { kind, request, id, text, storedBytes: content.length });
    beginCharge();
    const row = { screening, charge, isAbandoned: false };
    return this.#purchases.buy(row, () => staged.stage(row, content));
  }

  /** Returns the facts of an answer. */
  #screening(
    { accountId, who }: Saver,
    {
      kind,
      request,
      id,
      text,
      storedBytes,
    }: Pick<AnswerToSave, 'kind' | 'request'> & {
      readonly id: string;
      readonly text: Buffer;
      readonly storedBytes: number;
    },
  ): SavedScreening {
    const answer = objectOf(JSON.parse(text.toString()));
    const chain = textOf(answer.chain) as ChainId;
    const addresses = addressesOf(answer).map((address) => parseAddress(chain, address).canonical);
    return {
      id,
      accountId,
      kind,
      chain,
      addresses,
      request,
      riskScore: numberOf(answer.riskScore) ?? 0,
      riskLevel: textOf(answer.riskLevel) as RiskLevel,
      decision: textOf(answer.decision),
      dataVersion: textOf(answer.dataVersion) ?? '',
      policyVersion: textOf(answer.policyVersion) ?? '',
      softwareVersion: this.#options.softwareVersion,
      lists: this.#deps.lists(),
      savedAtMs: this.#deps.clock.now(),
      savedBy: who,
      bytes: text.length,
      sha256: sha256Of(text),
      storedBytes,
    };
  }

  list(
    accountId: string,
    kinds: readonly SavedKind[],
    query: SavedQuery,
    page: SavedPage,
  ): ReturnType<SavedScreenings['list']> {
    return this.#store.list(accountId, filterOf(kinds, query), page);
  }

  one(accountId: string, kinds: readonly SavedKind[], id: string): SavedScreening {
    return this.#required(accountId, kinds, id, 'id');
  }

  find(accountId: string, kinds: readonly SavedKind[], id: string): SavedScreening | null {
    const screening = this.#store.get(accountId, id);
    return screening !== null && kinds.includes(screening.kind) ? screening : null;
  }

  #required(accountId: string, kinds: readonly SavedKind[], id: string, field: string): SavedScreening {
    const screening = this.find(accountId, kinds, id);
    if (screening !== null) return screening;
    throw new AssayError('NOT_FOUND', `${field}: there is no saved screening '${id.slice(0, 64)}'.`, {
      field,
    });
  }

  answer(screening: SavedScreening): Buffer {
    return storedText(this.#store, screening);
  }

  compare(
    accountId: string,
    kinds: readonly SavedKind[],
    before: string,
    after: string,
  ): ReturnType<SavedScreenings['compare']> {
    const [first, second] = [
      this.#required(accountId, kinds, before, 'a'),
      this.#required(accountId, kinds, after, 'b'),
    ];
    const isSame =
      first.kind === second.kind &&
      first.chain === second.chain &&
      first.addresses.join() === second.addresses.join();
    if (!isSame)
      throw refuse(
        'b',
        `must be a ${first.kind} of ${first.chain} ${savedAnswer(first).addresses.join(' → ')}, as \`a\` is.`,
      );
    const answerOf = (screening: SavedScreening): JsonObject =>
      objectOf(JSON.parse(this.answer(screening).toString()));
    return compareAnswers(
      { screening: first, answer: answerOf(first) },
      { screening: second, answer: answerOf(second) },
    );
  }

  finish(signal: AbortSignal): Promise<void> {
    return this.#purchases.finish(signal);
  }
}

/** Creates the service of saved screenings. */
export const createSavedScreenings = (
  options: SavedScreeningsOptions,
  deps: SavedScreeningsDeps,
): SavedScreenings => new StoredScreenings(options, deps);
