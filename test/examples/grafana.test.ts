/** The provisioning of Grafana: the board is the one of deploy/, and everything that it reads exists. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { referencePath } from '../../scripts/reference.ts';
import { projectRoot } from '../../src/base/paths.ts';

const folder = join(projectRoot, 'examples', 'grafana');
const readYaml = <T>(...parts: string[]): T => parse(readFileSync(join(folder, ...parts), 'utf8')) as T;

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly datasource: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
}

interface Board {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly time: { readonly from: string; readonly to: string };
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: string }[];
  };
  readonly panels: readonly Panel[];
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      { readonly image: string; readonly volumes: readonly string[]; readonly ports: readonly string[] }
    >
  >;
}

const compose = readYaml<Compose>('compose.yaml');
/** Files and folders of the repository by their path in a container. */
const mountsOf = (service: string): ReadonlyMap<string, string> =>
  new Map(
    (compose.services[service]?.volumes ?? [])
      .filter((volume) => volume.startsWith('.'))
      .map((volume) => {
        const [from = '', to = '', mode] = volume.split(':');
        expect(mode, volume).toBe('ro');
        return [to, join(folder, from)] as const;
      }),
  );

const boardPath = '/var/lib/grafana/dashboards/assay.json';
const board = JSON.parse(readFileSync(mountsOf('grafana').get(boardPath) ?? '', 'utf8')) as Board;

const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

describe('the board of Grafana', () => {
  it('has the structure of a dashboard: panels with queries, on the grid, without an overlap', () => {
    expect(board).toMatchObject({
      title: expect.any(String),
      uid: expect.stringMatching(/^[\w-]{1,40}$/),
      schemaVersion: expect.any(Number),
      time: { from: expect.any(String), to: expect.any(String) },
    });
    expect(board.panels.length).toBeGreaterThan(10);
    for (const [at, panel] of board.panels.entries()) {
      expect(panel.type, panel.title).toMatch(/^(timeseries|stat|gauge|table|bargauge|heatmap)$/);
      expect(panel.title).not.toBe('');
      expect(panel.datasource, panel.title).toEqual({ type: 'prometheus', uid: `${'$'}{source}` });
      expect(panel.targets.length, panel.title).toBeGreaterThan(0);
      expect(new Set(panel.targets.map(({ refId }) => refId)).size).toBe(panel.targets.length);
      expect(board.panels.slice(at + 1).filter((other) => overlap(panel, other))).toEqual([]);
    }
    const [source] = board.templating.list.filter(({ type }) => type === 'datasource');
    expect(source).toMatchObject({ name: 'source', query: 'prometheus' });
  });

  it('reads only metrics of the reference, and leaves out none of those that are about Assay', () => {
    const page = readFileSync(referencePath('metrics.md'), 'utf8');
    const documented = new Map(
      [...page.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name = '', type = '']) => [name, type]),
    );
    const expressions = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const used = new Set(
      [...expressions, ...board.templating.list.map(({ query }) => query)]
        .flatMap((text) => text.match(/\b(?:assay|process|nodejs)_[a-z_]+\b/g) ?? [])
        .map((name) => (documented.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''))),
    );
    expect(used.size).toBeGreaterThan(15);
    expect([...used].filter((name) => !documented.has(name))).toEqual([]);
    // A counter is only meaningful as a rate.
    for (const expression of expressions)
      for (const [name] of expression.matchAll(/\bassay_[a-z_]+_total\b/g))
        expect(expression).toMatch(new RegExp(`(rate|increase)\\(${name}`));
  });
});

describe('the provisioning of Grafana', () => {
  it('loads the board from where it is mounted, and asks the Prometheus that scrapes Assay', () => {
    const { providers } = readYaml<{ providers: { type: string; options: { path: string } }[] }>(
      'provisioning',
      'dashboards',
      'assay.yaml',
    );
    expect(providers.map(({ options }) => `${options.path}/assay.json`)).toEqual([boardPath]);
    const { datasources } = readYaml<{ datasources: object[] }>(
      'provisioning',
      'datasources',
      'prometheus.yaml',
    );
    const prometheus = readYaml<{
      global: { scrape_interval: string };
      rule_files: string[];
      scrape_configs: { metrics_path: string }[];
    }>('prometheus.yaml');
    expect(datasources).toMatchObject([
      {
        type: 'prometheus',
        url: 'http://prometheus:9090',
        isDefault: true,
        jsonData: { timeInterval: prometheus.global.scrape_interval },
      },
    ]);
    expect(prometheus.scrape_configs.map((job) => job.metrics_path)).toEqual(['/metrics']);
    const mounts = mountsOf('prometheus');
    for (const file of prometheus.rule_files) expect([...mounts.keys()]).toContain(file);
    expect(mounts.get('/etc/prometheus/prometheus.yml')).toBe(join(folder, 'prometheus.yaml'));
  });

  it('mounts only what exists, has no password, and listens on this machine alone', () => {
    for (const [name, { image, ports }] of Object.entries(compose.services)) {
      for (const path of mountsOf(name).values()) expect(existsSync(path), path).toBe(true);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
      expect(image, name).toMatch(/:v?\d+\.\d+\.\d+$/);
    }
    expect(readFileSync(join(folder, 'compose.yaml'), 'utf8')).toMatch(
      /ADMIN_PASSWORD: \$\{GRAFANA_PASSWORD:\?/,
    );
  });
});
