/** The greeting of `assay serve`: where the first key appears, and which plan the operator has. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPlans } from '../../src/accounts/plans.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Terminal } from '../../src/cli/context.ts';
import { addServeCommand } from '../../src/cli/serve.ts';
import type { Served, Services } from '../../src/cli/services.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

const KEY = 'assay_live_of_a_test';

describe('the greeting of a server', () => {
  let folder: TempFolder;
  beforeEach(() => {
    folder = tempFolder();
  });
  afterEach(() => folder.remove());

  /** Returns the output of a server that is stopped as soon as it has started. */
  async function greeting(isTTY: boolean, served: Partial<Served>, dataDir = folder.path): Promise<string> {
    let text = '';
    const out = new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk);
        done();
      },
    });
    const stopping = new AbortController();
    const terminal: Terminal = {
      out: Object.assign(out, { isTTY }),
      err: out,
      clock: systemClock,
      signal: stopping.signal,
    };
    const services: Pick<Services, 'holdFolders' | 'prepare' | 'serve' | 'dataDir'> = {
      dataDir,
      holdFolders: async () => {},
      prepare: (async () => {}) as Services['prepare'],
      serve: async () => {
        stopping.abort();
        const stop = async () => {};
        return { url: 'http://127.0.0.1:1', backend: 'uws', firstKey: KEY, localPlan: null, stop, ...served };
      },
    };
    const program = new Command();
    addServeCommand(program, terminal, () => services as Services);
    await program.parseAsync(['node', 'assay', 'serve']);
    return text;
  }

  it('shows the first key on a terminal, and stores it nowhere', async () => {
    const text = await greeting(true, {});
    expect(text).toContain(`shown only once:\n\n  ${KEY}\n`);
    expect(text).toContain(`curl -H 'Authorization: Bearer ${KEY}' http://127.0.0.1:1/api/v1/oracle/`);
    expect(text).toContain('  assay accounts operator local --on\n');
    expect(existsSync(join(folder.path, 'first-api-key'))).toBe(false);
  });

  it('stores the first key in a private file if the output is not a terminal', async () => {
    const path = join(folder.path, 'first-api-key');
    writeFileSync(path, 'of an earlier installation', { mode: 0o644 });
    const text = await greeting(false, {});
    expect(text).not.toContain(KEY);
    expect(text).toContain(`The first API key is in ${path}\n`);
    expect(text).toContain(`curl -H "Authorization: Bearer $(cat '${path}')" http://127.0.0.1:1/api/v1/`);
    expect(readFileSync(path, 'utf8')).toBe(`${KEY}\n`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('says what to do if the first key cannot be stored, and does not print it', async () => {
    const text = await greeting(false, {}, '/dev/null/store');
    expect(text).toContain('could not be stored');
    expect(text).toContain('assay keys create --name first');
    expect(text).not.toContain(KEY);
  });

  it('names the plan of the operator, and how to remove its quotas', async () => {
    const plans = readPlans();
    expect(await greeting(false, { firstKey: null, localPlan: plans.SELF_HOSTED })).toBe(
      "Assay answers on http://127.0.0.1:1 (uws).\nAccount 'local' has the plan SELF_HOSTED: no quotas, 1,000,000,000 credits a month.\n",
    );
    expect(await greeting(true, { firstKey: null, localPlan: plans.FREE })).toContain(
      "Account 'local' has the plan FREE: 1,000 intel units, 1,000 oracle units, 10 credits a month. The plan without quotas: assay plan set local SELF_HOSTED\n",
    );
  });
});
