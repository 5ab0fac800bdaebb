/** The service of receipts: takes the facts from the evidence of an answer, signs them and stores both. */

import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import { type PolicyJson, policyToJson, type RiskPolicy } from '../risk/policy.ts';
import { answerWriter } from './answer-texts.ts';
import {
  type Answer,
  chainOfAnswer,
  judgementOf,
  narrowedOf,
  partsOf,
  refuseForm,
  subjectsOf,
  textOf,
  verdictFacts,
} from './attested-facts.ts';
import { batchPath } from './batches.ts';
import { canonicalObject, canonicalSha256, textSha256 } from './canonical.ts';
import {
  type SignedVerdict,
  signVerdict,
  type VerdictFacts,
  type VerdictKey,
  type VerdictTarget,
} from './eip712.ts';
import { type EvidenceText, EvidenceTexts } from './evidence-texts.ts';
import { base64url, compactJws, type ReceiptSigner, signedPart } from './jws.ts';
import type { SigningKeys } from './keys.ts';
import type { ReceiptKind } from './kinds.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import type { ReceiptLog } from './log/log.ts';
import { ADDED_LATER } from './receipt.ts';
import type { ReceiptGraphState, ReceiptListState } from './receipt-schema.ts';
import type {
  AnswerToAttest,
  BatchProof,
  ClosedBatch,
  IssuedReceipt,
  Receipts,
  ReceiptView,
} from './service.ts';
import type { ContentTexts, OwnFacts, ReceiptStore, StoredReceipt, StoreSigned } from './store.ts';
import { ReceiptTemplate, type ReceiptText, type SharedFacts } from './template.ts';

const SALT_BYTES = 16;
/** Salts are drawn for this many receipts at a time: one call of the generator costs as much as a hash. */
const SALTS_AT_ONCE = 256;
/** Account of receipts that bind answers to several accounts. No account has this id: they begin with `acc_` or are `local`. */
const BATCH_ACCOUNT = '-batch-';

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
  /** Opens the key that signs verdicts for contracts. */
  readonly verdictKey: () => Promise<VerdictKey>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Text of a JWS for the next call alone. A buffer for each of some kilobytes would be memory outside of the heap. */
const scratch = Buffer.alloc(2 * RECEIPT_LIMITS.receiptBytesMax);

/** Returns the bytes of a JWS that are signed. Its parts are written apart: a text that is joined of them is copied to become one. */
function signedBytes(start: string, [first, middle, last]: ReceiptText['encoded']): Buffer {
  if (start.length + first.length + middle.length + last.length > scratch.length)
    return Buffer.from(start + first + middle + last, 'latin1');
  let end = scratch.write(start + first, 0, 'latin1');
  end += scratch.write(middle, end, 'latin1');
  end += scratch.write(last, end, 'latin1');
  return scratch.subarray(0, end);
}

interface IssueOptions {
  readonly target?: VerdictTarget | null;
  /** Of a batch: its id, which its answers name already, and its leaves. */
  readonly id?: string;
  readonly leaves?: Buffer;
}

/** The state of the lists. */
interface CoverageNow {
  /** Second and data version at which it was read. */
  readonly issuedAt: number;
  readonly dataVersion: string;
  /** As JSON text, to compare with. */
  readonly state: string;
  readonly lists: ReceiptListState[];
}

/** A receipt that is not signed yet. */
interface UnsignedReceipt extends ReceiptText {
  readonly id: string;
  /** Canonical text of the answer. */
  readonly answer: string;
  /** ISO time. */
  readonly expiresAt: string;
  /** What a contract is told, if the request names one. */
  readonly verdict: { readonly facts: VerdictFacts; readonly target: VerdictTarget } | null;
  readonly store: StoreSigned;
}

/** Facts of a receipt that follow from the answer. */
type GivenFacts = Omit<SharedFacts, keyof FactsOfNow>;
type FactsOfNow = Pick<
  SharedFacts,
  | 'v'
  | 'coverage'
  | 'issuedAt'
  | 'expiresAt'
  | 'issuer'
  | 'policySha256'
  | 'policyVersion'
  | 'softwareVersion'
>;

/** Templates of the receipts of a second. */
interface Templates extends Pick<SharedFacts, 'coverage' | 'issuedAt' | 'issuer'> {
  readonly byFacts: Map<string, ReceiptTemplate>;
}

/** What follows from an answer without its own members, and from its evidence. */
interface AnswerParts {
  readonly evidence: AnswerToAttest['evidence'];
  readonly evidenceText: EvidenceText;
  readonly facts: GivenFacts;
  /** `nameOf` the facts. */
  readonly name: string;
  /** Returns the canonical text of the answer with its own members. */
  readonly write: (own: Answer) => string;
}

/** An issued receipt, and the canonical text of its answer. */
interface Attested {
  readonly answer: string;
  readonly receipt: IssuedReceipt;
}

/** Returns a receipt as JSON text. No character of a token needs an escape: JSON.stringify takes twice as long. */
function receiptText(receipt: IssuedReceipt): string {
  const { id, jws, expiresAt, eip712 } = receipt;
  if (eip712 !== undefined) return JSON.stringify(receipt);
  return `{"id":"${id}","jws":"${jws}","expiresAt":"${expiresAt}"}`;
}

/** Returns the JSON text of an answer with its receipt as the last member. */
const withReceipt = ({ answer, receipt }: Attested): string =>
  `${answer.slice(0, -1)}${answer === '{}' ? '' : ','}"receipt":${receiptText(receipt)}}`;

/** Returns a text that differs if a fact does. Only free texts may have any character, and they are quoted. */
function nameOf(facts: GivenFacts): string {
  const { kind, verdict, score, riskLevel, sanctioned, reasonCodes, assessed, asOf, narrowed, lines } = facts;
  const { dataVersion, graph } = facts;
  let name = `${kind} ${verdict} ${score} ${riskLevel} ${sanctioned} ${assessed} ${asOf} ${reasonCodes.join()} ${narrowed.join()}`;
  for (const { chain, height, asOf: until } of graph) name += ` ${chain} ${height} ${until}`;
  if (lines !== null) name += ` ${lines.count} ${lines.root}`;
  return `${name} ${JSON.stringify(dataVersion)}`;
}

class SignedReceipts implements Receipts {
  readonly #options: ReceiptsOptions;
  readonly #deps: ReceiptsDeps;
  readonly #newId: () => string;
  readonly #policy: PolicyJson;
  readonly #policySha256: string;
  /** The same object as long as nothing changes, as the policy is: the store hashes and compresses each object once. */
  #coverage: CoverageNow | null = null;
  #templates: Templates | null = null;
  readonly #evidenceTexts = new EvidenceTexts();
  /** By the answer without its own members. The oracle keeps as many of these as are worth their memory. */
  readonly #parts = new WeakMap<Answer, AnswerParts>();
  #salts = Buffer.alloc(0);
  #saltAt = 0;

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

  issue(
    client: Parameters<Receipts['issue']>[0],
    attested: AnswerToAttest,
    target: VerdictTarget | null = null,
  ): Promise<IssuedReceipt> {
    return this.#issue(client, attested, { target }).then(({ receipt }) => receipt);
  }

  attest(
    client: Parameters<Receipts['issue']>[0],
    attested: AnswerToAttest,
    target: VerdictTarget | null = null,
  ): Promise<string> {
    return this.#issue(client, attested, { target }).then(withReceipt);
  }

  async issueBatch({ id, lines, leaves }: ClosedBatch): Promise<void> {
    const stored = this.#deps.store.get(id, BATCH_ACCOUNT);
    // An earlier attempt has stored it, and failed then. Signed again, it would have another hash.
    if (stored !== null) return this.#append(stored);
    const answer = { lines };
    const evidence = { kind: 'BATCH', answer } as const;
    const client = { accountId: BATCH_ACCOUNT, issuedTo: BATCH_ACCOUNT };
    await this.#issue(client, { kind: 'BATCH', request: {}, answer, evidence, lines }, { id, leaves });
  }

  /** Appends a stored receipt to the log, unless it is there. */
  async #append({ id, sha256 }: StoredReceipt): Promise<void> {
    await this.#deps.log?.().append([{ id, hash: Buffer.from(sha256, 'hex') }]);
  }

  async batchProof(id: string, line: number): Promise<BatchProof> {
    const { store } = this.#deps;
    const stored = store.get(id, BATCH_ACCOUNT);
    const content = stored === null ? null : store.content(stored);
    const lines = content?.receipt.lines ?? null;
    if (stored === null || content === null || lines === null || line >= lines.count)
      throw unknownLine(id, line);
    // The process may have ended between the store and the log.
    await this.#append(stored);
    const { receipt } = content;
    const tiles = (tile: number): Buffer => store.leaves(id, tile);
    return {
      receipt: {
        id,
        jws: compactJws(receipt, stored.kid, Buffer.from(stored.signature, 'base64url')),
        expiresAt: isoTime(receipt.expiresAt * 1000),
      },
      line,
      count: lines.count,
      path: batchPath(line, lines.count, tiles),
    };
  }

  #issue(
    client: Parameters<Receipts['issue']>[0],
    attested: AnswerToAttest,
    options: IssueOptions,
  ): Promise<Attested> {
    // Before the time of the receipt is taken: a key that is created meanwhile would be newer than the receipt.
    return this.#deps.store.keys
      .active()
      .then((signer) => this.#finish(signer, this.#draft(signer, client, attested, options)));
  }

  /** Signs and stores a receipt. It gets the answer as text: an object that is kept until then is copied twice by the collector. */
  async #finish(
    signer: ReceiptSigner,
    { id, answer, hash, encoded, expiresAt, verdict, store }: UnsignedReceipt,
  ): Promise<Attested> {
    const signature = await signer.sign(signedBytes(signedPart(signer.kid, ''), encoded));
    // Before anything is stored: it fails if there is no key.
    const eip712 = verdict === null ? null : await this.#verdict(verdict);
    await store(signature);
    // After the store, so that every entry of the log has its receipt; before the answer, so that no client has a receipt without an entry.
    await this.#deps.log?.().append([{ id, hash }]);
    const jws = `${signedPart(signer.kid, encoded[0])}${encoded[1]}${encoded[2]}.${base64url(signature)}`;
    return { answer, receipt: eip712 === null ? { id, jws, expiresAt } : { id, jws, expiresAt, eip712 } };
  }

  async #verdict({ facts, target }: NonNullable<UnsignedReceipt['verdict']>): Promise<SignedVerdict> {
    const { verdictKey, clock } = this.#deps;
    try {
      return await signVerdict(facts, target, { key: await verdictKey(), clock });
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'NOT_READY') throw error;
      // The operator must act: a client that tries again gets the same.
      throw refuseForm(
        'is not available on this installation, which has no valid key for it (assay oracle signer)',
      );
    }
  }

  /**
   * Returns a receipt that is ready to be signed.
   *
   * @throws as `issue`
   */
  #draft(
    { kid }: ReceiptSigner,
    { accountId, issuedTo }: Parameters<Receipts['issue']>[0],
    attested: AnswerToAttest,
    { target = null, id = this.#newId(), leaves }: IssueOptions,
  ): UnsignedReceipt {
    const { policy, store } = this.#deps;
    const { evidenceText: evidence, facts, name, write } = this.#partsOf(attested);
    const template = this.#templateOf(facts, name);
    const answer = write(attested.own ?? {});
    const own: OwnFacts = {
      id,
      subject: subjectsOf(attested),
      requestSha256: canonicalSha256(attested.request),
      answerSha256: textSha256(answer),
      evidenceSha256: evidence.sha256,
      salt: this.#nextSalt(),
    };
    const { hash, encoded } = template.textOf(own);
    const { kind, issuedAt, coverage } = template.shared;
    const row = {
      id,
      accountId,
      issuedTo,
      kind,
      issuedAtMs: issuedAt * 1000,
      expiresAtMs: template.shared.expiresAt * 1000,
      sha256: hash.toString('hex'),
      kid,
    };
    const content: ContentTexts = {
      own,
      facts: template.facts,
      coverage,
      policy: this.#policy,
      labels: evidence.labels,
      evidence: evidence.rest,
    };
    return {
      id,
      answer,
      hash,
      encoded,
      expiresAt: template.expiresAt,
      verdict:
        target === null ? null : { facts: verdictFacts(attested, template.receiptOf(own), policy), target },
      store: store.prepare(row, content, leaves),
    };
  }

  /** Returns what follows from an answer and its evidence: for an answer with own members, the same as for those with the same objects. */
  #partsOf(attested: AnswerToAttest): AnswerParts {
    const { answer, own, evidence, request } = attested;
    const isShared = own !== undefined && narrowedOf(partsOf(request)).length === 0;
    const known = isShared ? this.#parts.get(answer) : undefined;
    if (known !== undefined && known.evidence === evidence) return known;
    const facts = this.#factsOf(attested);
    const parts = {
      evidence,
      evidenceText: this.#evidenceTexts.of(evidence),
      facts,
      name: nameOf(facts),
      write:
        own === undefined
          ? () => canonicalObject(answer, ADDED_LATER)
          : answerWriter(answer, Object.keys(own)),
    };
    if (isShared) this.#parts.set(answer, parts);
    return parts;
  }

  /** Returns the facts of a receipt that follow from its answer. */
  #factsOf({ kind, request, answer, evidence, lines }: AnswerToAttest): GivenFacts {
    const chain = chainOfAnswer(answer);
    const judgement = judgementOf(evidence, answer, this.#deps.policy);
    return {
      kind,
      verdict: judgement.verdict,
      score: judgement.score,
      riskLevel: judgement.riskLevel,
      sanctioned: judgement.sanctioned,
      reasonCodes: [...judgement.reasonCodes],
      assessed: typeof answer.assessed === 'boolean' ? answer.assessed : null,
      asOf: textOf(answer.asOf),
      narrowed: narrowedOf(partsOf(request)),
      dataVersion: textOf(answer.dataVersion) ?? '',
      graph: chain === null || !('graph' in evidence) ? [] : [graphState(chain, evidence.graph)],
      lines: lines === undefined ? null : { ...lines },
    };
  }

  /** Returns the template of receipts with some facts: the same one within a second. */
  #templateOf(facts: GivenFacts, name: string): ReceiptTemplate {
    const { clock, policy, issuer } = this.#deps;
    const issuedAt = Math.floor(clock.now() / 1000);
    const coverage = this.#coverageAt(issuedAt, facts.dataVersion).lists;
    const now = { issuedAt, coverage, issuer: issuer() };
    const known = this.#templates;
    if (known?.issuedAt !== issuedAt || known.coverage !== coverage || known.issuer !== now.issuer)
      this.#templates = { ...now, byFacts: new Map() };
    const { byFacts } = this.#templates as Templates;
    let template = byFacts.get(name);
    if (template === undefined) {
      // A verifier that does not read these two must not take the verdict for a current one: it refuses it as expired.
      const isCurrent = facts.asOf === null && facts.narrowed.length === 0;
      template = new ReceiptTemplate({
        v: 1,
        ...facts,
        ...now,
        expiresAt: issuedAt + (isCurrent ? RECEIPT_LIMITS.verdictSeconds : 0),
        policySha256: this.#policySha256,
        policyVersion: policy.version,
        softwareVersion: this.#options.softwareVersion,
      });
      if (byFacts.size >= RECEIPT_LIMITS.templatesMax) byFacts.clear();
      byFacts.set(name, template);
    }
    return template;
  }

  #nextSalt(): string {
    if (this.#saltAt === this.#salts.length) {
      this.#salts = Buffer.from(this.#deps.random.bytes(SALTS_AT_ONCE * SALT_BYTES));
      this.#saltAt = 0;
    }
    const from = this.#saltAt;
    this.#saltAt += SALT_BYTES;
    return this.#salts.toString('hex', from, this.#saltAt);
  }

  /** Returns the state of the lists: read once a second and for each data version, as answers read it, and the same object until it changes. */
  #coverageAt(issuedAt: number, dataVersion: string): CoverageNow {
    const known = this.#coverage;
    if (known !== null && known.issuedAt === issuedAt && known.dataVersion === dataVersion) return known;
    const lists = [...this.#deps.lists()];
    const state = JSON.stringify(lists);
    this.#coverage =
      known?.state === state ? { ...known, issuedAt, dataVersion } : { issuedAt, dataVersion, state, lists };
    return this.#coverage;
  }

  one(id: string, accountId?: string, kinds?: readonly ReceiptKind[]): ReceiptView {
    const { store } = this.#deps;
    const stored = store.get(id, accountId);
    if (stored === null || kinds?.includes(stored.kind) === false) throw unknownReceipt(id);
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

const unknownLine = (id: string, line: number): AssayError =>
  new AssayError(
    'NOT_FOUND',
    `id: there is no batch '${id.slice(0, SHOWN_ID_MAX)}' with a line ${line}. A batch is signed within two seconds.`,
    { field: 'id' },
  );

/** Creates the service of receipts. */
export const createReceipts = (options: ReceiptsOptions, deps: ReceiptsDeps): Receipts =>
  new SignedReceipts(options, deps);
