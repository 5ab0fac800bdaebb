/**
 * Reports on labels: what clients say is wrong with a label, for the operators of the installation to decide. A report changes no label; a
 * dispute does (`disputes.ts`).
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { invalidCursor } from '../base/paging.ts';
import type { Random } from '../base/random.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Category, ThreatLevel } from '../labels/taxonomy.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
import type { Dispute, DisputeRequest } from './disputes.ts';
import { ATTRIBUTION_LIMITS } from './limits.ts';
import { checkedReason } from './reason.ts';

export const REPORT_STATES = ['OPEN', 'ACCEPTED', 'REJECTED'] as const;
export type ReportState = (typeof REPORT_STATES)[number];

export interface LabelReport {
  readonly id: string;
  /** The account that filed it. */
  readonly accountId: string;
  readonly chain: ChainId;
  /** As answers write addresses. */
  readonly address: string;
  /** Source of the reported labels; null: all labels of the address. */
  readonly source: string | null;
  readonly reason: string;
  readonly state: ReportState;
  /** ISO times; `decidedAt` and `note` are null while the report is open. */
  readonly filedAt: string;
  readonly decidedAt: string | null;
  /** The operator's words for the decision. */
  readonly note: string | null;
}

export type ReportDraft = Pick<LabelReport, 'accountId' | 'chain' | 'address' | 'source' | 'reason'>;

export interface ReportPage {
  readonly reports: readonly LabelReport[];
  /** Continues after the last report of the page; null at the end. */
  readonly nextCursor: string | null;
}

export interface ReportQuery {
  readonly limit: number;
  readonly cursor?: string;
  /** Only reports in this state. */
  readonly state?: ReportState;
  /** Most reports that are read; the page is then short although more match. Default: all of them. */
  readonly readMax?: number;
}

/** A label that a report is about, as it is now. */
export interface ReportedLabel {
  readonly source: string;
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
}

/** The decision of an operator on a report. */
export interface ReportDecision extends Pick<DisputeRequest, 'name' | 'category' | 'corrects'> {
  readonly state: Exclude<ReportState, 'OPEN'>;
  /** Words for the account that filed it; the reason of the dispute if it is accepted. */
  readonly reason: string;
}

/** A decided report with the dispute that accepting it stored. */
export interface DecidedReport {
  readonly report: LabelReport;
  readonly dispute: Dispute | null;
}

export interface ReportStore {
  /**
   * Files a report. Durable when it resolves. While the account has an open report on the same labels, that one is returned.
   *
   * @throws INVALID_REQUEST if the reason is not usable, or the account has too many open reports, or the installation has
   */
  file(draft: ReportDraft): Promise<{ readonly report: LabelReport; readonly isNew: boolean }>;
  /** Returns reports, newest first; those of one account if `accountId` is not null. */
  list(accountId: string | null, query: ReportQuery): ReportPage;
  /**
   * Returns an open report.
   *
   * @throws NOT_FOUND; INVALID_REQUEST if it is decided already
   */
  requireOpen(id: string): LabelReport;
  /**
   * Decides an open report.
   *
   * @throws NOT_FOUND; INVALID_REQUEST if it is decided already
   */
  decide(id: string, state: Exclude<ReportState, 'OPEN'>, note: string | null): Promise<LabelReport>;
  /** Returns the number of open reports. */
  openCount(): number;
  close(): Promise<void>;
}

export const FORMAT_VERSION = 1;

/** Ids begin with the time, so that they sort by it: 9 digits of base 36 hold the milliseconds until the year 5188. */
const TIME_DIGITS = 9;
const RANDOM_BYTES = 8;
const ID_SHAPE = /^rpt_[0-9a-z]{9}[0-9a-f]{16}$/;
/** After every id. */
const AFTER_IDS = 'rpt_~';

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openReportStore(
  options: { readonly path: string },
  deps: {
    readonly clock: Clock;
    readonly random: Random;
    /** Default: on this machine. */
    readonly openStore?: OpenStore;
  },
): ReportStore {
  return new LiveReports(options.path, deps);
}

class LiveReports implements ReportStore {
  readonly #deps: { readonly clock: Clock; readonly random: Random };
  readonly #root;
  readonly #reports: LiveDatabase<LabelReport, string>;
  /** Ids of open reports, by account and labels. */
  readonly #open: LiveDatabase<string, string>;
  /** Reports of each account: `account/id`. */
  readonly #byAccount: LiveDatabase<1, string>;
  /** Decided reports, in the order of their decisions: `time/id`. */
  readonly #decided: LiveDatabase<1, string>;

  constructor(
    path: string,
    deps: { readonly clock: Clock; readonly random: Random; readonly openStore?: OpenStore },
  ) {
    const { openStore = openLiveStore } = deps;
    this.#deps = deps;
    this.#root = openStore(path, FORMAT_VERSION, { name: 'label-reports' }).root;
    this.#reports = this.#root.openDB({ name: 'reports', encoding: 'json' });
    this.#open = this.#root.openDB({ name: 'open', encoding: 'json' });
    this.#byAccount = this.#root.openDB({ name: 'byAccount', encoding: 'json' });
    this.#decided = this.#root.openDB({ name: 'decided', encoding: 'json' });
  }

  #newId(now: number): string {
    const time = Math.trunc(now).toString(36).padStart(TIME_DIGITS, '0');
    return `rpt_${time}${Buffer.from(this.#deps.random.bytes(RANDOM_BYTES)).toString('hex')}`;
  }

  /** Removes the reports that were decided first, until there is room for one more. Returns false if the rest is open. */
  #makeRoom(): boolean {
    const count = this.#reports.getKeysCount({});
    let wanted = count - ATTRIBUTION_LIMITS.reportsMax + 1;
    if (wanted <= 0) return true;
    for (const key of [...this.#decided.getKeys({ limit: wanted })]) {
      const id = key.slice(key.indexOf('/') + 1);
      const report = this.#reports.get(id);
      this.#decided.removeSync(key);
      this.#reports.removeSync(id);
      if (report !== undefined) this.#byAccount.removeSync(`${report.accountId}/${id}`);
      wanted--;
    }
    return wanted <= 0;
  }

  async file(draft: ReportDraft): Promise<{ readonly report: LabelReport; readonly isNew: boolean }> {
    const { accountId, chain, address, source } = draft;
    const reason = checkedReason('reason', draft.reason);
    const now = this.#deps.clock.now();
    const id = this.#newId(now);
    const report: LabelReport = {
      ...{ id, accountId, chain, address, source, reason, state: 'OPEN' },
      ...{ filedAt: isoTime(now), decidedAt: null, note: null },
    };
    const openKey = openKeyOf(report);
    const filed = await this.#root.transaction((): LabelReport | 'account' | 'installation' => {
      const known = this.#open.get(openKey);
      const same = known === undefined ? undefined : this.#reports.get(known);
      if (same !== undefined) return same;
      const own = this.#open.getKeysCount({ start: `${accountId}/`, end: `${accountId}/~` });
      if (own >= ATTRIBUTION_LIMITS.openReportsPerAccountMax) return 'account';
      if (!this.#makeRoom()) return 'installation';
      this.#reports.putSync(id, report);
      this.#open.putSync(openKey, id);
      this.#byAccount.putSync(`${accountId}/${id}`, 1);
      return report;
    });
    if (filed === 'account')
      throw new AssayError(
        'INVALID_REQUEST',
        `This account has ${ATTRIBUTION_LIMITS.openReportsPerAccountMax} open reports, the maximum; wait until some are decided.`,
      );
    if (filed === 'installation')
      throw new AssayError(
        'INVALID_REQUEST',
        `${ATTRIBUTION_LIMITS.reportsMax} reports are open, the maximum; wait until some are decided.`,
      );
    return { report: filed, isNew: filed.id === id };
  }

  list(
    accountId: string | null,
    { limit, cursor, state, readMax = Number.POSITIVE_INFINITY }: ReportQuery,
  ): ReportPage {
    if (cursor !== undefined && !ID_SHAPE.test(cursor)) throw invalidCursor();
    const prefix = accountId === null ? '' : `${accountId}/`;
    const range = { start: prefix + (cursor ?? AFTER_IDS), end: `${prefix}rpt_`, reverse: true };
    const database: Pick<LiveDatabase<unknown, string>, 'getKeys'> = accountId === null
      ? this.#reports
      : this.#byAccount;
    const reports: LabelReport[] = [];
    let read = 0;
    let last: string | null = null;
    for (const key of database.getKeys(range)) {
      const id = key.slice(prefix.length);
      if (id === cursor) continue;
      if (read++ === readMax) return { reports, nextCursor: last };
      last = id;
      const report = this.#reports.get(id);
      if (report === undefined || (state !== undefined && report.state !== state)) continue;
      if (reports.length === limit) return { reports, nextCursor: reports.at(-1)?.id ?? null };
      reports.push(report);
    }
    return { reports, nextCursor: null };
  }

  requireOpen(id: string): LabelReport {
    return openOnly(id, this.#reports.get(id));
  }

  async decide(id: string, state: Exclude<ReportState, 'OPEN'>, note: string | null): Promise<LabelReport> {
    const decidedAt = isoTime(this.#deps.clock.now());
    const found = await this.#root.transaction(
      (): { readonly before: LabelReport | undefined; readonly decided?: LabelReport } => {
        const before = this.#reports.get(id);
        if (before?.state !== 'OPEN') return { before };
        const decided: LabelReport = { ...before, state, note, decidedAt };
        this.#reports.putSync(id, decided);
        this.#open.removeSync(openKeyOf(before));
        this.#decided.putSync(`${decidedAt}/${id}`, 1);
        return { before, decided };
      },
    );
    return found.decided ?? openOnly(id, found.before);
  }

  openCount(): number {
    return this.#open.getKeysCount({});
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}

/** Returns the labels that a report is about, as the audit log names them. */
export const reportedLabels = ({ chain, address, source }: LabelReport): string =>
  `${chain} ${address} ${source ?? 'all sources'}`;

/** @throws NOT_FOUND if there is no report; INVALID_REQUEST if it is decided */
function openOnly(id: string, report: LabelReport | undefined): LabelReport {
  if (report === undefined)
    throw new AssayError('NOT_FOUND', `id: there is no report '${id.slice(0, 64)}'.`, { field: 'id' });
  if (report.state !== 'OPEN')
    throw new AssayError('INVALID_REQUEST', `id: the report is already ${report.state}.`, { field: 'id' });
  return report;
}

const openKeyOf = ({ accountId, chain, address, source }: LabelReport): string =>
  `${accountId}/${chain}/${address}/${source ?? ''}`;
