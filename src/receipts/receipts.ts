/** The service of receipts: takes the facts from the evidence of an answer, signs them and stores both. */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import { type PolicyJson, policyToJson, type RiskPolicy } from '../risk/policy.ts';
import { DIRECTION_DEFAULT, EXPOSURE_HOPS } from '../screening/choices.ts';
import { codesOf, type Judgement, rescore } from '../screening/rescore.ts';
import { canonicalJson, canonicalSha256 } from './canonical.ts';
import { compactJws, signReceipt } from './jws.ts';
import type { SigningKeys } from './keys.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import type { ReceiptLog } from './log/log.ts';
import {
  accountIdOf,
  answerOf,
  type Receipt,
  type ReceiptGraphState,
  type ReceiptListState,
  receiptHash,
} from './receipt.ts';
import type { AnswerToAttest, IssuedReceipt, Receipts, ReceiptView } from './service.ts';
import type { ReceiptStore, StoredReceipt } from './store.ts';

const SALT_BYTES = 16;

export interface ReceiptsOptions {
  readonly softwareVersion: string;
}

export interface ReceiptsDeps {
  readonly store: ReceiptStore;
  readonly policy: RiskPolicy;
  /** Returns the state of each sanctions list. */
  readonly lists: () => readonly ReceiptListState[];
  /** URL of the installation, or its id. */
  readonly issuer: () => string;
  /** The transparency log; null for commands of an operator, which issue no receipts. */
  readonly log: (() => Pick<ReceiptLog, 'append'>) | null;
  readonly clock: Clock;
  readonly random: Random;
}

type Answer = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const partsOf = (value: unknown): Answer =>
  typeof value === 'object' && value !== null ? (value as Answer) : {};

/** Returns the addresses of an answer: that of the address, or of the sender and the receiver. */
function addressesOf({ from, to, address }: Answer): readonly string[] {
  return [from, to, address].flatMap((party) => textOf(party) ?? textOf(partsOf(party).address) ?? []);
}

/** Returns the judgement of a name screening: none of its subject, because each of its names has its own matches. */
const namesJudgement = ({ reasons }: Answer): NullableJudgement => ({
  verdict: null,
  score: null,
  riskLevel: null,
  sanctioned: null,
  reasonCodes: codesOf(Array.isArray(reasons) ? reasons : []),
});

type NullableJudgement = Omit<Judgement, 'sanctioned'> & { readonly sanctioned: boolean | null };

/** Members of an answer that the evidence must give, by their names in each kind of answer. */
function requireGiven(judgement: Judgement, kind: string, answer: Answer): void {
  const { verdict, score, riskLevel, sanctioned } = judgement;
  const shown: Answer = {
    verdict: answer.verdict ?? answer.decision ?? null,
    score: answer.score ?? answer.riskScore ?? null,
    riskLevel: answer.riskLevel ?? null,
    // A KYT answer has the sanctions of each party only.
    sanctioned: answer.sanctioned ?? sanctioned,
  };
  const given: Answer = { verdict, score, riskLevel, sanctioned };
  const wrong = Object.keys(given).find((name) => given[name] !== shown[name]);
  if (wrong !== undefined)
    throw new AssayError(
      'INTERNAL',
      `The evidence of a ${kind} answer gives ${wrong} ${given[wrong]}, and the answer has ${shown[wrong]}; no receipt was issued.`,
    );
}

/**
 * Returns the judgement of an answer from its evidence.
 *
 * @throws INTERNAL if it is not that of the answer
 */
function judgementOf(
  evidence: AnswerToAttest['evidence'],
  answer: Answer,
  policy: RiskPolicy,
): NullableJudgement {
  if (evidence.kind === 'NAMES') return namesJudgement(answer);
  const judgement = rescore(evidence, policy);
  requireGiven(judgement, evidence.kind, answer);
  return judgement;
}

/** Returns the fields of a request that make it read less than by default. */
function narrowedOf({ maxHops, direction }: Answer): string[] {
  return [
    ...(typeof maxHops === 'number' && maxHops < EXPOSURE_HOPS.standard ? [`maxHops=${maxHops}`] : []),
    ...(typeof direction === 'string' && direction !== DIRECTION_DEFAULT ? [`direction=${direction}`] : []),
  ];
}

class SignedReceipts implements Receipts {
  readonly #options: ReceiptsOptions;
  readonly #deps: ReceiptsDeps;
  readonly #newId: () => string;
  readonly #policy: PolicyJson;
  readonly #policySha256: string;
  /** The same object as long as nothing changes, as the policy is: the store hashes and compresses each object once. */
  #coverage: { readonly text: string; readonly lists: ReceiptListState[] } | null = null;

  constructor(options: ReceiptsOptions, deps: ReceiptsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#newId = createIds(deps);
    this.#policy = policyToJson(deps.policy);
    this.#policySha256 = canonicalSha256(this.#policy);
  }

  get keys(): SigningKeys {
    return this.#deps.store.keys;
  }

  async issue(client: Parameters<Receipts['issue']>[0], attested: AnswerToAttest): Promise<IssuedReceipt> {
    const { store, log } = this.#deps;
    const { evidence } = attested;
    // Before the time of the receipt is taken: a key that is created meanwhile would be newer than the receipt.
    const signer = await store.keys.active();
    const receipt = this.#receiptOf(attested);
    const hash = receiptHash(receipt);
    const signature = await signReceipt(receipt, signer);
    await store.add(
      {
        id: receipt.id,
        ...client,
        kind: receipt.kind,
        issuedAtMs: receipt.issuedAt * 1000,
        expiresAtMs: receipt.expiresAt * 1000,
        sha256: hash.toString('hex'),
        kid: signer.kid,
        signature: Buffer.from(signature).toString('base64url'),
      },
      { receipt, evidence: { ...evidence }, policy: this.#policy },
    );
    // After the store, so that every entry of the log has its receipt; before the answer, so that no client has a receipt without an entry.
    await log?.().append([{ id: receipt.id, hash }]);
    return {
      id: receipt.id,
      jws: compactJws(receipt, signer.kid, signature),
      expiresAt: isoTime(receipt.expiresAt * 1000),
    };
  }

  #receiptOf({ kind, request, answer, evidence }: AnswerToAttest): Receipt {
    const { clock, random, policy, issuer } = this.#deps;
    const chain = textOf(answer.chain) as ChainId | null;
    const judgement = judgementOf(evidence, answer, policy);
    const issuedAt = Math.floor(clock.now() / 1000);
    const asOf = textOf(answer.asOf);
    const narrowed = narrowedOf(partsOf(request));
    // A verifier that does not read these two must not take the verdict for a current one: it refuses it as expired.
    const lifeSeconds = asOf === null && narrowed.length === 0 ? RECEIPT_LIMITS.verdictSeconds : 0;
    return {
      v: 1,
      id: this.#newId(),
      kind,
      subject:
        chain === null
          ? []
          : addressesOf(answer).map((address) => accountIdOf(chain, parseAddress(chain, address).canonical)),
      requestSha256: canonicalSha256(request),
      answerSha256: canonicalSha256(answerOf(answer)),
      evidenceSha256: canonicalSha256(evidence),
      ...judgement,
      reasonCodes: [...judgement.reasonCodes],
      assessed: typeof answer.assessed === 'boolean' ? answer.assessed : null,
      asOf,
      narrowed,
      coverage: this.#lists(),
      dataVersion: textOf(answer.dataVersion) ?? '',
      graph: chain === null || !('graph' in evidence) ? [] : [graphState(chain, evidence.graph)],
      policySha256: this.#policySha256,
      policyVersion: policy.version,
      softwareVersion: this.#options.softwareVersion,
      issuedAt,
      expiresAt: issuedAt + lifeSeconds,
      issuer: issuer(),
      salt: Buffer.from(random.bytes(SALT_BYTES)).toString('hex'),
      lines: null,
    };
  }

  #lists(): ReceiptListState[] {
    const lists = [...this.#deps.lists()];
    const text = canonicalJson(lists);
    if (this.#coverage?.text !== text) this.#coverage = { text, lists };
    return this.#coverage.lists;
  }

  one(id: string, accountId?: string): ReceiptView {
    const { store } = this.#deps;
    const stored = store.get(id, accountId);
    if (stored === null) throw unknownReceipt(id);
    const content = store.content(stored);
    const { kid, signature } = stored;
    const jws =
      content === null ? null : compactJws(content.receipt, kid, Buffer.from(signature, 'base64url'));
    return { stored, jws, content };
  }

  async erase(id: string): Promise<StoredReceipt> {
    const erased = await this.#deps.store.erase(id);
    if (erased === null) throw unknownReceipt(id);
    return erased;
  }
}

const graphState = (
  chain: ChainId,
  { height, asOf }: Pick<ReceiptGraphState, 'height' | 'asOf'>,
): ReceiptGraphState => ({ chain: chainOf(chain).caip2, height, asOf });

const SHOWN_ID_MAX = 64;
const unknownReceipt = (id: string): AssayError =>
  new AssayError('NOT_FOUND', `id: there is no receipt '${id.slice(0, SHOWN_ID_MAX)}'.`, { field: 'id' });

/** Creates the service of receipts. */
export const createReceipts = (options: ReceiptsOptions, deps: ReceiptsDeps): Receipts =>
  new SignedReceipts(options, deps);
