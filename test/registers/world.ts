/** A folder of state, a store of registers in it, and small files in ESMA's layout. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createExchangeStatuses, type ExchangeStatuses } from '../../src/registers/exchange-status.ts';
import {
  importRegisters,
  type RegisterImportOptions,
  type RegisterReport,
} from '../../src/registers/import.ts';
import { openRegisterStore, type RegisterStore } from '../../src/registers/store.ts';

export const clock: Clock = { now: () => Date.UTC(2026, 10, 21), monotonic: () => 0 };

export interface RegisterWorld {
  readonly folder: string;
  readonly store: RegisterStore;
  readonly statuses: ExchangeStatuses;
  write(name: string, content: string | Uint8Array): string;
  load(
    source: RegisterImportOptions['source'],
    files: readonly string[],
    options?: Partial<RegisterImportOptions>,
  ): Promise<readonly RegisterReport[]>;
  close(): void;
}

export function openRegisterWorld(): RegisterWorld {
  const folder = mkdtempSync(join(tmpdir(), 'assay-registers-'));
  const store = openRegisterStore({ dataDir: folder });
  return {
    folder,
    store,
    statuses: createExchangeStatuses({ store, log: silentLogger, clock }),
    write(name, content) {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    load: (source, files, options = {}) => importRegisters({ source, files, ...options }, { store, clock }),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const CASP_HEADER =
  'ae_competentAuthority,ae_homeMemberState,ae_lei_name,ae_lei,ae_lei_cou_code,ae_commercial_name,ae_address,ae_website,ae_website_platform,ac_authorisationNotificationDate,ac_authorisationEndDate,ac_serviceCode,ac_serviceCode_cou,ac_comments,ac_lastupdate';

export interface CaspRow {
  readonly name: string;
  readonly lei?: string;
  readonly state?: string;
  readonly trade?: string;
  readonly site?: string;
  readonly ended?: string;
  readonly services?: string;
  readonly countries?: string;
}

/** A file of service providers in ESMA's layout. */
export const caspFile = (rows: readonly CaspRow[]): string =>
  [
    `\uFEFF${CASP_HEADER}`,
    ...rows.map((row) =>
      [
        'Testing Authority (TA)',
        row.state ?? 'DE',
        `"${row.name}"`,
        row.lei ?? '',
        '',
        row.trade ?? '',
        '"Somewhere 1, Town"',
        row.site ?? '',
        '',
        '01/02/2025',
        row.ended ?? '',
        row.services ?? 'a. custody',
        row.countries ?? '',
        '',
        '01/02/2025',
      ].join(','),
    ),
    '',
  ].join('\r\n');
