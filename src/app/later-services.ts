/**
 * The services of a server that the first operation which needs them opens, or a step of its start: a node that never needs one opens none of its
 * stores. The server stops those that are open.
 */
import { takeJson } from '../base/buffer-pool.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { CaseService } from '../cases/service.ts';
import type { Config } from '../config/config.ts';
import { type OpenBulkJobs, openBulkJobs } from '../jobs/bulk/open.ts';
import type { Monitoring, MonitoringDeps } from '../monitoring/open.ts';
import type { StreamHub } from '../monitoring/stream.ts';
import type { Role } from '../nodes/roles.ts';
import type { LocalChunks } from '../pool/local-chunks.ts';
import type { WorkerPool } from '../pool/pool.ts';
import type { GraphUseCases } from '../pool/tasks/index.ts';
import { ReceiptBatches } from '../receipts/batches.ts';
import type { ReceiptLog } from '../receipts/log/log.ts';
import type { Receipts } from '../receipts/service.ts';
import type { SavedScreenings } from '../saved-screenings/service.ts';
import type { AccountServices } from './account-services.ts';
import { billingStreams } from './billing-events.ts';
import { casesOf } from './case-services.ts';
import { jobBilling } from './job-billing.ts';
import type { LabelServices } from './label-services.ts';
import type { NodeConnection } from './node-services.ts';
import { receiptsOf } from './receipt-services.ts';
import { savedScreeningsOf } from './saved-services.ts';
import type { ScreeningServices } from './screening-services.ts';
import type { OpenedLater } from './use-cases.ts';

/** The services that need the worker pool. */
export interface Serving {
  readonly pool: WorkerPool;
  readonly chunks: LocalChunks;
  readonly node: NodeConnection;
  /** Use cases over transfers, on whichever node they are stored. */
  readonly graph: GraphUseCases;
}

/** Where the jobs of files are stored. */
export interface JobPlaces {
  readonly storePath: string;
  readonly folder: string;
  readonly isShared: boolean;
}

export interface LaterOptions extends Pick<Serving, 'chunks' | 'node' | 'graph'> {
  readonly roles: readonly Role[];
  readonly jobPlaces: JobPlaces;
  /** Null on a node without the role api. */
  readonly receiptLog: ReceiptLog | null;
}

export interface LaterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly labels: LabelServices;
  readonly accounts: AccountServices;
  readonly screening: ScreeningServices;
  readonly openMonitoring: (
    screen: MonitoringDeps['screen'],
    division?: Pick<MonitoringDeps, 'dutyOf' | 'onFailing'>,
  ) => Monitoring;
  readonly version: string;
}

interface Opened {
  monitoring: Monitoring | null;
  cases: CaseService | null;
  savedScreenings: SavedScreenings | null;
  billingStreams: StreamHub | null;
  receipts: Receipts | null;
  receiptBatches: ReceiptBatches | null;
  jobs: OpenBulkJobs | null;
}

export class LaterServices {
  readonly #config: Config;
  readonly #options: LaterOptions;
  readonly #deps: LaterDeps;
  readonly #opened: Opened = {
    monitoring: null,
    cases: null,
    savedScreenings: null,
    billingStreams: null,
    receipts: null,
    receiptBatches: null,
    jobs: null,
  };
  /** The services as the use cases of the operations open them. */
  readonly useCases: OpenedLater = {
    monitoring: () => this.monitoring().service,
    cases: () => this.#cases(),
    savedScreenings: () => this.savedScreenings(),
    billingStreams: () => this.#billingStreams(),
    receiptLog: () => this.#receiptLog(),
    receipts: () => this.receipts(),
    receiptBatches: () => this.#receiptBatches(),
    jobs: () => this.jobs(),
  };

  constructor(config: Config, options: LaterOptions, deps: LaterDeps) {
    this.#config = config;
    this.#options = options;
    this.#deps = deps;
  }

  /** The services that are open. Reading them opens none. */
  get opened(): Readonly<Opened> {
    return this.#opened;
  }

  /** Opens monitoring, and starts the parts of it that this node has by its roles. */
  monitoring(): Monitoring {
    if (this.#opened.monitoring !== null) return this.#opened.monitoring;
    const { roles, graph, node } = this.#options;
    const monitoring = this.#deps.openMonitoring(
      async (request) => takeJson(await graph.screening(request)),
      { dutyOf: node.dutyOf, onFailing: node.announceFailing },
    );
    monitoring.start({
      follows: roles.includes('listener'),
      sends: roles.includes('delivery'),
      bills: roles.includes('api'),
    });
    this.#opened.monitoring = monitoring;
    return monitoring;
  }

  #cases(): CaseService {
    this.#opened.cases ??= casesOf(this.#config, {
      ...this.#deps,
      monitoring: () => this.monitoring().service,
      savedScreenings: () => this.savedScreenings(),
    });
    return this.#opened.cases;
  }

  savedScreenings(): SavedScreenings {
    const { labels, version } = this.#deps;
    this.#opened.savedScreenings ??= savedScreeningsOf({ version, freshness: labels.freshness }, this.#deps);
    return this.#opened.savedScreenings;
  }

  #billingStreams(): StreamHub {
    this.#opened.billingStreams ??= billingStreams(this.#deps.accounts.billing(), this.#deps);
    return this.#opened.billingStreams;
  }

  #receiptLog(): ReceiptLog {
    const { receiptLog } = this.#options;
    if (receiptLog === null) throw new Error('A node without the role api has no transparency log.');
    return receiptLog;
  }

  receipts(): Receipts {
    const { labels, screening, version } = this.#deps;
    this.#opened.receipts ??= receiptsOf(
      {
        version,
        dataDir: this.#config.dataDir,
        freshness: labels.freshness,
        policy: screening.policy(),
        log: () => this.#receiptLog(),
      },
      this.#deps,
    );
    return this.#opened.receipts;
  }

  #receiptBatches(): ReceiptBatches {
    const { clock, random, log } = this.#deps;
    const receipts = (): Receipts => this.receipts();
    this.#opened.receiptBatches ??= new ReceiptBatches({ receipts, clock, random, log });
    return this.#opened.receiptBatches;
  }

  /** Opens the jobs of files. Their threads start with the first chunk. */
  jobs(): OpenBulkJobs {
    if (this.#opened.jobs !== null) return this.#opened.jobs;
    const { jobPlaces, node, chunks } = this.#options;
    const { accounts, clock, random, log } = this.#deps;
    const jobs = openBulkJobs(jobPlaces, {
      ...accounts.shared(),
      runner: node.chunks(chunks),
      billing: jobBilling(accounts.access),
      clock,
      random,
      log,
    });
    jobs.start();
    this.#opened.jobs = jobs;
    return jobs;
  }
}
