/** The alert rules on invented series, by Prometheus' own tool: when each of them fires, and when it does not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { projectRoot } from '../../src/base/paths.ts';
import { debianProgram } from '../setup/debian-package.ts';
import { spawnSync } from '../support/child-process.ts';

const RULES = join(projectRoot, 'deploy', 'prometheus-rules.yaml');
const promtool = process.platform === 'linux' ? debianProgram('prometheus', 'bin/promtool') : null;

const folder = mkdtempSync(join(tmpdir(), 'assay-rules-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: readonly string[]): { status: number | null; output: string } => {
  const { status, stdout, stderr } = spawnSync(promtool?.path ?? '', args, {
    encoding: 'utf8',
    env: { ...process.env, ...promtool?.env },
  });
  return { status, output: stdout + stderr };
};

const LISTS = ['OFAC_SDN', 'OFAC_CONS', 'EU', 'UN', 'UK', 'CH'];
const ages = (lists: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lists.map((list) => [`assay_sanctions_list_age_seconds{instance="a",list="${list}"}`, '60x120']),
  );
const READY = { 'assay_ready{instance="a"}': '1x120' };

describe.skipIf(promtool === null)('the alert rules', () => {
  it('are valid', () => {
    const { status, output } = run('check', 'rules', RULES);
    expect([status, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  it.each([
    ['AssayListMissing', 'no list was ever loaded', READY, true],
    ['AssayListMissing', 'one list was never loaded', { ...READY, ...ages(LISTS.slice(1)) }, true],
    ['AssayListMissing', 'all lists are loaded', { ...READY, ...ages(LISTS) }, false],
    [
      'AssayVerdictKeyEnds',
      'it ends in a week',
      { 'assay_verdict_key_seconds_left{instance="a",signer="0x1"}': '604800x120' },
      true,
    ],
    [
      'AssayVerdictKeyEnds',
      'it is new',
      { 'assay_verdict_key_seconds_left{instance="a",signer="0x1"}': '7776000x120' },
      false,
    ],
    ['AssayPoolStuck', 'a task waits', { 'assay_pool_oldest_task_seconds{instance="a"}': '0+60x120' }, true],
    ['AssayPoolStuck', 'tasks end', { 'assay_pool_oldest_task_seconds{instance="a"}': '2x120' }, false],
    [
      'AssayConnectionsRefused',
      'connections are closed',
      { 'assay_http_refused_sockets{instance="a"}': '0+1x120' },
      true,
    ],
    [
      'AssayConnectionsRefused',
      'some were closed an hour ago',
      { 'assay_http_refused_sockets{instance="a"}': '0x10 9x110' },
      false,
    ],
    ['AssayClockWrong', 'it is an hour ahead', { 'assay_clock_seconds{instance="a"}': '3600+60x120' }, true],
    [
      'AssayClockWrong',
      'it is an hour behind',
      { 'assay_clock_seconds{instance="a"}': '-3600+60x120' },
      true,
    ],
    ['AssayClockWrong', 'it is right', { 'assay_clock_seconds{instance="a"}': '1+60x120' }, false],
    [
      'AssayCertificateEnds',
      'it ends in a week',
      { 'assay_tls_certificate_seconds_left{instance="a",file="c"}': '604800x120' },
      true,
    ],
    [
      'AssayCertificateEndsSoon',
      'it ends in a week',
      { 'assay_tls_certificate_seconds_left{instance="a",file="c"}': '604800x120' },
      false,
    ],
    [
      'AssayCertificateEndsSoon',
      'it has ended',
      { 'assay_tls_certificate_seconds_left{instance="a",file="c"}': '0x120' },
      true,
    ],
    ['AssayDown', 'a node does not answer', { 'up{job="assay",instance="a"}': '0x120' }, true],
    ['AssayDown', 'a node answers', { 'up{job="assay",instance="a"}': '1x120' }, false],
    [
      'AssayErrors',
      'requests fail',
      { 'assay_http_requests_total{instance="a",route="GET /entity/{address}",status="500"}': '0+60x120' },
      true,
    ],
    [
      'AssayErrors',
      'a node that is not ready is probed',
      { 'assay_http_requests_total{instance="a",route="GET /ready",status="503"}': '0+60x120' },
      false,
    ],
  ])('%s, if %s', (alert, _, series, fires) => {
    const file = join(folder, `${alert}.yaml`);
    const test = {
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",alertstate="firing",instance="a"})`,
          eval_time: '110m',
          exp_samples: fires ? [{ labels: '{}', value: 1 }] : [],
        },
      ],
    };
    writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [test] }));
    const { status, output } = run('test', 'rules', file);
    expect(output).toContain('SUCCESS');
    expect(status).toBe(0);
  });
});
