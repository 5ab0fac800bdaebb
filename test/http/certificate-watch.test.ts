/** A renewed certificate is found and handed over once, and files that are no valid pair are refused with one log entry. */
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { CertificateWatch } from '../../src/http/server/certificate-watch.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { until } from '../support/wait.ts';

describe('the watch of the certificate', () => {
  let folder: TempFolder;
  let watch: CertificateWatch;
  let reloads: number;
  let logged: string[];
  const files = () => ({
    keyFile: join(folder.path, 'key.pem'),
    certFile: join(folder.path, 'cert.pem'),
  });
  const put = (name: 'key' | 'cert', from: 'renewed-' | '' = ''): void =>
    copyFileSync(
      join(projectRoot, 'test', 'http', 'tls', `${from}${name}.pem`),
      join(folder.path, `${name}.pem`),
    );
  const log = {
    info: (_: object, text: string) => void logged.push(text),
    error: (_: object, text: string) => void logged.push(text),
  } as unknown as Logger;
  const REFUSED = 'changed TLS certificate or key refused; the earlier ones stay in use';
  const RELOADED = 'TLS certificate reloaded';

  function open(intervalMs?: number): void {
    watch = new CertificateWatch(files(), log, intervalMs);
    watch.onRenewed(async () => void reloads++);
  }

  beforeEach(() => {
    folder = tempFolder();
    reloads = 0;
    logged = [];
    put('key');
    put('cert');
  });
  afterEach(() => {
    watch.stop();
    folder.remove();
  });

  it('reloads a renewed pair once, and nothing that stays the same', async () => {
    open();
    await watch.check();
    expect([reloads, logged]).toEqual([0, []]);
    const endsAtMs = watch.endsAtMs;
    expect(endsAtMs).toBeGreaterThan(0);
    put('key', 'renewed-');
    put('cert', 'renewed-');
    await watch.check();
    await watch.check();
    expect([reloads, logged]).toEqual([1, [RELOADED]]);
    expect(watch.endsAtMs).not.toBe(endsAtMs);
  });

  it('checks by itself until it is stopped', async () => {
    open(5);
    put('key', 'renewed-');
    put('cert', 'renewed-');
    await until(() => reloads === 1);
    watch.stop();
  });

  it('refuses a pair that does not match, and takes it once its second file is there', async () => {
    open();
    put('key', 'renewed-');
    await watch.check();
    await watch.check();
    expect([reloads, logged]).toEqual([0, [REFUSED]]);
    put('cert', 'renewed-');
    await watch.check();
    expect([reloads, logged]).toEqual([1, [REFUSED, RELOADED]]);
  });

  it('reports files that are missing or no certificate once, and goes on', async () => {
    open();
    const { certFile } = files();
    rmSync(certFile);
    await watch.check();
    await watch.check();
    writeFileSync(certFile, 'no certificate');
    await watch.check();
    expect([reloads, logged]).toEqual([0, [REFUSED, REFUSED]]);
    put('cert');
    await watch.check();
    expect(reloads).toBe(1);
  });

  it('reports a server that refuses the pair', async () => {
    open();
    watch.onRenewed(() => Promise.reject(new Error('refused')));
    put('key', 'renewed-');
    put('cert', 'renewed-');
    await watch.check();
    expect(logged).toEqual([REFUSED]);
  });
});
