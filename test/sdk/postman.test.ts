/** The Postman collection: its requests are accepted as they are by a server, if they need no more than a key. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import type { CaseStore } from '../../src/cases/store.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import type { Monitoring } from '../../src/monitoring/open.ts';
import type { SavedStore } from '../../src/saved-screenings/store.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { openedCases } from '../cases/opened.ts';
import { openWorld, type World } from '../http/world.ts';
import { folderJobs } from '../http/world-jobs.ts';
import { openedMonitoring } from '../monitoring/opened.ts';
import { type OpenedLog, openLog } from '../receipts/log/world.ts';
import { openedSaved } from '../saved-screenings/opened.ts';

interface Pair {
  readonly key: string;
  readonly value: string;
  readonly disabled?: boolean;
}
interface Item {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly auth?: { readonly type: string };
    readonly header: readonly Pair[];
    readonly url: { readonly raw: string; readonly variable?: readonly Pair[] };
    readonly body?: { readonly raw: string };
  };
}
interface Collection {
  readonly item: readonly { readonly name: string; readonly item: readonly Item[] }[];
}

const { item: folders } = JSON.parse(
  readFileSync(join(projectRoot, 'docs', 'reference', 'assay.postman_collection.json'), 'utf8'),
) as Collection;
const items = folders.flatMap(({ item }) => item);

/** Requests that need only a key: no session, and no id that only the caller knows. */
const replayed = items.filter(
  ({ request: { auth, url } }) =>
    auth === undefined && (url.variable ?? []).every(({ value }) => value !== ''),
);

describe('the Postman collection', () => {
  let folder: TempFolder;
  let monitoring: Monitoring;
  let world: World;
  let caseStore: CaseStore;
  let savedStore: SavedStore;
  let receipts: OpenedLog;
  let key: string;
  beforeAll(async () => {
    folder = tempFolder();
    monitoring = openedMonitoring(folder.path, { dutyOf: () => new Map() });
    monitoring.start();
    const jobs = folderJobs(join(folder.path, 'bulk'));
    const opened = openedCases(folder.path);
    caseStore = opened.store;
    const saved = openedSaved(folder.path, () => world.access.ledger());
    savedStore = saved.store;
    receipts = await openLog(folder.path, { checkpointMs: 0 });
    await receipts.log.append([{ id: 'string', hash: Buffer.alloc(32) }]);
    world = await openWorld({
      backend: 'uws',
      useCases: {
        monitoring: () => monitoring.service,
        jobs: () => jobs,
        cases: () => opened.cases,
        savedScreenings: () => saved.saved,
        receiptLog: () => receipts.log,
      },
    });
    key = await world.key({ plan: 'SELF_HOSTED' });
  });
  afterAll(async () => {
    await world.close();
    await monitoring.close();
    await caseStore.close();
    await savedStore.close();
    await receipts.close();
    folder.remove();
  });

  it('has every operation, and most of them need only a key', () => {
    expect(items).toHaveLength(OPERATIONS.filter(({ isListed }) => isListed).length);
    expect(replayed.length).toBeGreaterThan(20);
  });

  it.each(replayed.map((item) => [item.name, item] as const))(
    '"%s" is accepted',
    async (_name, { request }) => {
      const fill = (text: string): string =>
        text.replaceAll('{{baseUrl}}', world.url).replaceAll('{{$guid}}', crypto.randomUUID());
      const path = (request.url.variable ?? []).reduce(
        (url, variable) => url.replace(`:${variable.key}`, encodeURIComponent(variable.value)),
        fill(request.url.raw),
      );
      const sent = request.header.filter(({ disabled }) => disabled !== true);
      const abort = new AbortController();
      const response = await fetch(path, {
        method: request.method,
        headers: {
          authorization: `Bearer ${key}`,
          ...Object.fromEntries(sent.map((one) => [one.key, fill(one.value)])),
        },
        signal: abort.signal,
        ...(request.body === undefined ? {} : { body: request.body.raw }),
      });
      const isStream = response.headers.get('content-type') === 'text/event-stream';
      const text = isStream ? '' : await response.text();
      abort.abort();
      // The example of a cleared match names an entity that no list has.
      const isUnknownMatch =
        response.status === 404 && text.includes('is not among the matches of this name');
      expect(isUnknownMatch ? 200 : response.status, text).toBe(200);
    },
  );
});
