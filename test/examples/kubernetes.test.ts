/** The manifests for Kubernetes: against the schemas of its API, and against what the program needs. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { projectRoot } from '../../src/base/paths.ts';
import { loadConfig } from '../../src/config/config.ts';
import { ROLES } from '../../src/nodes/roles.ts';
import { installedPackages } from '../setup/installed-packages.ts';
import { spawnSync } from '../support/child-process.ts';

const folder = join(projectRoot, 'examples', 'kubernetes');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

/** Where the schemas of a resource are in kubernetes-models: the module of the check, and the module of the type. */
const SCHEMAS: Readonly<Record<string, readonly [check: string, type: string]>> = {
  'v1 Namespace': ['CoreV1Namespace', 'v1/Namespace'],
  'v1 ConfigMap': ['CoreV1ConfigMap', 'v1/ConfigMap'],
  'v1 Secret': ['CoreV1Secret', 'v1/Secret'],
  'v1 Service': ['CoreV1Service', 'v1/Service'],
  'v1 PersistentVolumeClaim': ['CoreV1PersistentVolumeClaim', 'v1/PersistentVolumeClaim'],
  'apps/v1 Deployment': ['AppsV1Deployment', 'apps/v1/Deployment'],
  'apps/v1 StatefulSet': ['AppsV1StatefulSet', 'apps/v1/StatefulSet'],
  'batch/v1 Job': ['BatchV1Job', 'batch/v1/Job'],
  'policy/v1 PodDisruptionBudget': ['PolicyV1PodDisruptionBudget', 'policy/v1/PodDisruptionBudget'],
  'autoscaling/v2 HorizontalPodAutoscaler': [
    'AutoscalingV2HorizontalPodAutoscaler',
    'autoscaling/v2/HorizontalPodAutoscaler',
  ],
  'networking.k8s.io/v1 NetworkPolicy': ['NetworkingV1NetworkPolicy', 'networking.k8s.io/v1/NetworkPolicy'],
};

interface Labels {
  readonly [name: string]: string;
}
interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly object[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: object;
  readonly resources: { readonly requests: object; readonly limits: object };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe: object;
  readonly readinessProbe: object;
  readonly livenessProbe: object;
}
interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly data?: Labels;
  readonly stringData?: Labels;
  // biome-ignore lint/suspicious/noExplicitAny: its shape depends on the kind, and the schemas check it.
  readonly spec?: any;
}

const files = readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
const resources: readonly Resource[] = files.flatMap((name) =>
  parseAllDocuments(read(name)).map((document) => {
    expect(document.errors, name).toEqual([]);
    return document.toJS() as Resource;
  }),
);
const ofKind = (...kinds: readonly string[]): readonly Resource[] =>
  resources.filter(({ kind }) => kinds.includes(kind));
const one = (kind: string, name = 'assay'): Resource => {
  const found = ofKind(kind).find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`There is no ${kind} ${name}.`);
  return found;
};

const workloads = ofKind('Deployment', 'StatefulSet');
const nameOf = ({ kind, metadata }: Resource): string => `${kind} ${metadata.name}`;
// biome-ignore lint/suspicious/noExplicitAny: checked by the schemas.
const podOf = (workload: Resource): any => workload.spec.template.spec;
const containerOf = (workload: Resource): Container => podOf(workload).containers[0];
const roleOf = ({ metadata }: Resource): string => metadata.name.replace('assay-', '');

const SECRETS = {
  ASSAY_REDIS_URL: 'rediss://assay:password@redis.redis:6379',
  ASSAY_CLUSTER_SECRET: 'a-secret-of-more-than-sixteen-characters',
};

/** The configuration of a pod: the image's settings, the ConfigMap, the secret, and its own. */
function configOf(workload: Resource): ReturnType<typeof loadConfig> {
  const own = Object.fromEntries((containerOf(workload).env ?? []).map(({ name, value }) => [name, value]));
  const ofImage = { ASSAY_HOST: '0.0.0.0', ASSAY_PORT: '8080', ASSAY_DATA_DIR: '/data' };
  return loadConfig({ ...ofImage, ...one('ConfigMap').data, ...SECRETS, ...own });
}

const packages = installedPackages('kubernetes');

describe.skipIf(packages === null)('the schemas of Kubernetes', () => {
  const models = join(packages ?? '', 'node_modules', 'kubernetes-models');
  const problemsOf = async (resource: Resource): Promise<unknown> => {
    const [check = ''] = SCHEMAS[`${resource.apiVersion} ${resource.kind}`] ?? [];
    const path = join(models, '_schemas', `IoK8sApi${check}.js`);
    const { validate } = (await import(pathToFileURL(path).href)) as {
      validate: ((data: unknown) => boolean) & { errors: unknown };
    };
    return validate(resource) ? null : validate.errors;
  };

  /** Compiles resources against the types of the API, which name every field: the compiler refuses others. */
  function compile(all: readonly Resource[]): string {
    const work = mkdtempSync(join(tmpdir(), 'assay-kubernetes-'));
    try {
      symlinkSync(join(packages ?? '', 'node_modules'), join(work, 'node_modules'));
      const lines = all.map((resource, at) => {
        const [, type = ''] = SCHEMAS[`${resource.apiVersion} ${resource.kind}`] ?? [];
        return `export const r${at}: import('kubernetes-models/${type}').I${resource.kind} = ${JSON.stringify(resource)};`;
      });
      writeFileSync(join(work, 'package.json'), '{"type":"module"}');
      writeFileSync(join(work, 'manifests.ts'), lines.join('\n'));
      const compiler = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');
      const options = [
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        '--module',
        'nodenext',
        '--target',
        'es2023',
        '--types',
        '',
      ];
      return spawnSync(process.execPath, [compiler, ...options, 'manifests.ts'], {
        cwd: work,
        encoding: 'utf8',
      }).stdout;
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }

  it('accept every manifest, and find a wrong type', async () => {
    expect(resources.length).toBeGreaterThan(20);
    for (const resource of resources) expect(await problemsOf(resource), nameOf(resource)).toBeNull();
    const wrong = structuredClone(one('Service', 'assay-api'));
    wrong.spec.ports[0].port = '80';
    expect(await problemsOf(wrong)).toMatchObject([{ instancePath: '/spec/ports/0/port' }]);
  });

  it('have every field of the manifests, and not a misspelt one', () => {
    const wrong = structuredClone(one('Deployment', 'assay-api'));
    wrong.spec.template.spec.containers[0].securityContext.readonlyRootFilesystem = true;
    const output = compile([...resources, wrong]);
    expect(output.split('\n').filter((line) => line.includes('error'))).toEqual([
      expect.stringMatching(/'"readonlyRootFilesystem"' does not exist in type 'ISecurityContext'/),
    ]);
    expect(output).toContain(`manifests.ts(${resources.length + 1},`);
  });
});

describe('the manifests for Kubernetes', () => {
  it('start every role, with settings that the program accepts', () => {
    const roles = new Set(workloads.flatMap((workload) => configOf(workload).roles));
    expect([...roles].sort()).toEqual([...ROLES].sort());
    for (const workload of workloads) {
      const { redis, workers, dataDir } = configOf(workload);
      expect(redis?.place, nameOf(workload)).toBeDefined();
      expect(dataDir).toBe('/data');
      expect(String(workers)).toBe(
        containerOf(workload).env?.find(({ name }) => name === 'ASSAY_WORKERS')?.value,
      );
      expect(containerOf(workload).args).toEqual(['serve']);
    }
    const { args } = containerOf(one('Job', 'assay-found'));
    expect(args).toEqual(['redis', 'found']);
  });

  it('build labels on one pod, from which all others pull', () => {
    const builders = workloads.filter((workload) => configOf(workload).snapshots.from === null);
    expect(builders.map(roleOf)).toEqual(['builder']);
    const [builder = one('StatefulSet', 'assay-builder')] = builders;
    expect(builder.spec.replicas).toBe(1);
    const { listen } = configOf(builder).snapshots;
    const service = one('Service', 'assay-builder');
    expect(service.spec.ports).toMatchObject([{ port: listen?.port }]);
    for (const workload of workloads.filter((each) => each !== builder))
      expect(configOf(workload).snapshots.from).toEqual({
        kind: 'http',
        url: `http://assay-builder:${listen?.port}/`,
      });
  });

  it('give each role what it needs: transfers on two workers and on listeners, and the jobs folder', () => {
    for (const workload of workloads) {
      const { graphChains, roles, jobsDir } = configOf(workload);
      const role = roleOf(workload);
      expect(graphChains, role).toEqual(role === 'worker' || role === 'listener' ? 'all' : []);
      const mounts = containerOf(workload).volumeMounts.map(({ mountPath }) => mountPath);
      if (roles.includes('api') || roles.includes('worker')) expect(mounts, role).toContain(jobsDir);
      // Transfers and the history of lists survive the pod; what is replicated need not.
      expect(workload.kind, role).toBe(
        graphChains === 'all' || role === 'builder' ? 'StatefulSet' : 'Deployment',
      );
    }
    expect(one('StatefulSet', 'assay-worker').spec.replicas).toBe(2);
    expect(one('PersistentVolumeClaim', 'assay-jobs').spec.accessModes).toEqual(['ReadWriteMany']);
  });

  it('run without root, rights and a writable system', () => {
    for (const workload of [...workloads, one('Job', 'assay-found')]) {
      const name = nameOf(workload);
      expect(podOf(workload), name).toMatchObject({
        enableServiceLinks: false,
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      const { securityContext, volumeMounts, resources: sizes } = containerOf(workload);
      expect(securityContext, name).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const paths = volumeMounts.map(({ mountPath }) => mountPath);
      expect(paths, name).toEqual(expect.arrayContaining(['/data', '/tmp']));
      expect(sizes, name).toMatchObject({
        requests: { cpu: expect.anything() },
        limits: { memory: expect.anything() },
      });
    }
    expect(readFileSync(join(projectRoot, 'Dockerfile'), 'utf8')).toContain('--uid 1000');
    expect(one('Namespace')).toMatchObject({
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    });
  });

  it('need `enableServiceLinks: false`, because the server refuses the variables of service links', () => {
    // Of the service assay-api; one with the name `assay` would even set ASSAY_PORT.
    expect(() => loadConfig({ ASSAY_API_SERVICE_HOST: '10.0.0.1' })).toThrow('ASSAY_API_SERVICE_HOST');
    expect(() => loadConfig({ ASSAY_PORT: 'tcp://10.0.0.1:80' })).toThrow('ASSAY_PORT');
  });

  it('ask /ready for readiness, /health for life, and give a server time to end', () => {
    const operations = readFileSync(join(projectRoot, 'docs', 'reference', 'api.md'), 'utf8');
    for (const path of ['/health', '/ready']) expect(operations).toContain(`\`GET ${path}\``);
    for (const workload of workloads) {
      const probe = (path: string) => ({ httpGet: { path, port: 'http' } });
      expect(containerOf(workload), nameOf(workload)).toMatchObject({
        startupProbe: probe('/health'),
        readinessProbe: probe('/ready'),
        livenessProbe: probe('/health'),
        ports: expect.arrayContaining([{ name: 'http', containerPort: configOf(workload).port }]),
      });
      expect(podOf(workload).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(20);
    }
  });

  it('have no secret, and a template that the server refuses', () => {
    const template = one('Secret');
    expect(Object.keys(template.stringData ?? {})).toEqual(Object.keys(SECRETS));
    for (const [name, value] of Object.entries(template.stringData ?? {}))
      expect(() => loadConfig({ ...SECRETS, [name]: value }), name).toThrow(name);
    const { resources: listed } = parse(read('kustomization.yaml')) as { resources: readonly string[] };
    const apart = ['found.yaml', 'secret.example.yaml'];
    expect([...listed].sort()).toEqual(files.filter((name) => !apart.includes(name)).sort());
    for (const name of listed) expect(read(name), name).not.toMatch(/^ +ASSAY_(REDIS_URL|CLUSTER_SECRET)/m);
  });

  it('select only what exists: services, budgets, policies and the autoscaler', () => {
    const pods: readonly Labels[] = workloads.map(({ spec }) => spec.template.metadata.labels);
    const matches = (selector: Labels) =>
      pods.filter((labels) => Object.entries(selector).every(([name, value]) => labels[name] === value));
    for (const { spec, metadata } of ofKind('Service')) {
      expect(matches(spec.selector), metadata.name).toHaveLength(1);
      const container = containerOf(
        workloads.find(
          (each) => each.spec.template.metadata.labels === matches(spec.selector)[0],
        ) as Resource,
      );
      for (const { targetPort } of spec.ports)
        expect(
          container.ports?.map(({ name }) => name),
          metadata.name,
        ).toContain(targetPort);
    }
    for (const { spec, metadata } of ofKind('PodDisruptionBudget'))
      expect(matches(spec.selector.matchLabels), metadata.name).toHaveLength(1);
    for (const { spec, metadata } of ofKind('NetworkPolicy'))
      expect(matches(spec.podSelector.matchLabels ?? {}).length, metadata.name).toBeGreaterThan(0);
    for (const workload of workloads) {
      expect(workload.spec.selector.matchLabels).toEqual(workload.metadata.labels);
      if (workload.kind === 'StatefulSet')
        expect(() => one('Service', workload.spec.serviceName)).not.toThrow();
    }
    const { scaleTargetRef, minReplicas } = one('HorizontalPodAutoscaler', 'assay-api').spec;
    const target = one(scaleTargetRef.kind, scaleTargetRef.name);
    expect(target.spec.replicas).toBeUndefined();
    expect(minReplicas).toBeGreaterThanOrEqual(2);
  });

  it('allow only the traffic that a role needs', () => {
    expect(one('NetworkPolicy', 'assay-deny').spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
    const reaching = workloads.filter(
      ({ spec }) => spec.template.metadata.labels['assay/reaches'] === 'outside',
    );
    expect(reaching.map(roleOf).sort()).toEqual(['builder', 'delivery']);
    const ports = ofKind('NetworkPolicy').flatMap(({ spec }) =>
      [...(spec.ingress ?? [])].flatMap(({ ports: open }: { ports: { port: number }[] }) =>
        open.map(({ port }) => port),
      ),
    );
    expect(new Set(ports)).toEqual(new Set([8080, 8090]));
  });
});
