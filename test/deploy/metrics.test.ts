/** The dashboard, rules and docs name metrics: a server must have each of them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { metricsPage, referencePath } from '../../scripts/reference.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { newWorld, type World } from '../e2e/program.ts';

const read = (...parts: string[]): string => readFileSync(join(projectRoot, ...parts), 'utf8');

let world: World;
/** The names of metric families and of their series. */
let names: Set<string>;
/** `name{label="` of every series in the scrape. */
let scraped: string;
beforeAll(async () => {
  world = newWorld();
  const server = await world.serve();
  await fetch(`${server.url}/health`);
  scraped = await (await fetch(`${server.url}/metrics`)).text();
  names = new Set(
    [...scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
});
afterAll(() => world.end());

const METRIC = /\b(?:assay|process|nodejs)_[a-z_]+\b/g;

const unknown = (expressions: readonly string[]): string[] =>
  expressions
    .flatMap((text) => [...text.matchAll(METRIC)].map(([name]) => name))
    .filter((name) => !names.has(name));

interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: object;
    }[];
  }[];
}

/** Whether brackets and braces close in the reverse order of their opening. */
function isBalanced(expression: string): boolean {
  const open: string[] = [];
  for (const sign of expression.replace(/"[^"]*"/g, '')) {
    if ('({['.includes(sign)) open.push(sign);
    if (')}]'.includes(sign) && open.pop() !== { ')': '(', '}': '{', ']': '[' }[sign]) return false;
  }
  return open.length === 0;
}

describe('metrics', () => {
  it.skipIf(process.platform !== 'linux')(
    'tell own memory from mapped files, which together are resident',
    () => {
      const value = (series: string): number =>
        Number(
          scraped
            .split('\n')
            .find((line) => line.startsWith(`${series} `))
            ?.split(' ')[1],
        );
      const own = value('assay_memory_bytes{kind="own"}');
      const mapped = value('assay_memory_bytes{kind="mapped"}');
      const resident = value('process_resident_memory_bytes');
      expect(own).toBeGreaterThan(0);
      expect(mapped).toBeGreaterThan(0);
      expect(Math.abs(own + mapped - resident)).toBeLessThan(resident / 10);
    },
  );

  it('of the dashboard exist on a server', () => {
    const dashboard = JSON.parse(read('deploy', 'grafana-dashboard.json')) as Dashboard;
    const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(15);
    expect(unknown([...expressions, ...dashboard.templating.list.map(({ query }) => query)])).toEqual([]);
    expect(expressions.filter((text) => !isBalanced(text))).toEqual([]);
    const variables = new Set(dashboard.templating.list.map(({ name }) => name));
    for (const [, name = ''] of JSON.stringify(dashboard).matchAll(/\$\{?([a-z]+)\}?/g))
      expect(variables, name).toContain(name);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const { gridPos, title } of dashboard.panels)
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
  });

  it('of the rules exist on a server, and so do their labels', () => {
    const rules = (parse(read('deploy', 'prometheus-rules.yaml')) as Rules).groups.flatMap(
      (group) => group.rules,
    );
    expect(rules.length).toBeGreaterThan(5);
    expect(unknown(rules.map(({ expr }) => expr))).toEqual([]);
    expect(rules.filter(({ expr }) => !isBalanced(expr))).toEqual([]);
    expect(scraped).toMatch(/assay_http_requests_total\{[^}]*route="[^"]*\/health"/);
    expect(scraped).toMatch(/assay_http_requests_total\{[^}]*status="200"/);
    expect(read('src', 'http', 'operations', 'oracle.ts')).toContain("path: '/oracle/");
  });

  it('of the instructions exist on a server', () => {
    const text = read('docs', 'OPERATIONS.md');
    expect(text.match(METRIC)?.length ?? 0).toBeGreaterThan(5);
    expect(unknown([text])).toEqual([]);
  });

  it('of the reference exist on a server', () => {
    const page = metricsPage(scraped);
    const path = referencePath('metrics.md');
    if (process.env.ASSAY_TEST_WRITE_REFERENCE === '1') writeFileSync(path, page);
    expect(readFileSync(path, 'utf8'), 'run this test with ASSAY_TEST_WRITE_REFERENCE=1').toBe(page);
  });
});
