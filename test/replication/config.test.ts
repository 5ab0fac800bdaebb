import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';

const S3 = { ASSAY_S3_ACCESS_KEY_ID: 'AKID', ASSAY_S3_SECRET_ACCESS_KEY: 's3cret/with+signs' };
const snapshots = (environment: Readonly<Record<string, string>>) => loadConfig(environment).snapshots;
const refused = (environment: Readonly<Record<string, string>>, names: string): void => {
  expect(() => loadConfig(environment)).toThrow(names);
};

describe('settings of snapshot replication', () => {
  it('are off by default', () => {
    expect(snapshots({})).toEqual({
      listen: null,
      secret: null,
      store: null,
      from: null,
      behindMaxSeconds: 0,
    });
  });

  it('accept a publisher, a listener and a store', () => {
    expect(snapshots({ ASSAY_SNAPSHOT_FROM: 'http://node-a:8090' }).from).toEqual({
      kind: 'http',
      url: 'http://node-a:8090/',
    });
    expect(snapshots({ ASSAY_SNAPSHOT_LISTEN: '[::1]:8090' }).listen).toEqual({ host: '::1', port: 8090 });
    const place = {
      bucket: 'our-bucket',
      prefix: 'assay/eu',
      endpoint: 'http://minio:9000',
      region: 'eu-central-1',
      credentials: { accessKeyId: 'AKID', secretAccessKey: 's3cret/with+signs', sessionToken: null },
    };
    const named = { ...S3, ASSAY_S3_ENDPOINT: 'http://minio:9000', ASSAY_S3_REGION: 'eu-central-1' };
    const url = 's3://our-bucket/assay/eu/';
    expect(snapshots({ ...named, ASSAY_SNAPSHOT_STORE: url }).store).toEqual(place);
    expect(snapshots({ ...named, ASSAY_SNAPSHOT_FROM: url }).from).toEqual({ kind: 's3', place });
  });

  it('require a secret beyond loopback, and credentials for a store', () => {
    refused({ ASSAY_SNAPSHOT_LISTEN: '0.0.0.0:8090' }, 'ASSAY_CLUSTER_SECRET');
    const secret = { ASSAY_CLUSTER_SECRET: 'sixteen characters'.replace(' ', '-') };
    expect(snapshots({ ...secret, ASSAY_SNAPSHOT_LISTEN: '0.0.0.0:8090' }).listen?.port).toBe(8090);
    refused({ ASSAY_SNAPSHOT_STORE: 's3://our-bucket' }, 'ASSAY_S3_ACCESS_KEY_ID');
    refused(
      { ASSAY_S3_ACCESS_KEY_ID: 'AKID', ASSAY_SNAPSHOT_FROM: 's3://our-bucket' },
      'ASSAY_S3_SECRET_ACCESS_KEY',
    );
  });

  it.each([
    ['ASSAY_SNAPSHOT_LISTEN', '8090'],
    ['ASSAY_SNAPSHOT_LISTEN', 'host:99999'],
    ['ASSAY_SNAPSHOT_STORE', 'https://our-bucket'],
    ['ASSAY_SNAPSHOT_STORE', 's3://UPPER/x'],
    ['ASSAY_SNAPSHOT_STORE', 's3://our-bucket/../other'],
    ['ASSAY_SNAPSHOT_STORE', 's3://our-bucket/a//b'],
    ['ASSAY_SNAPSHOT_FROM', 'ftp://host'],
    ['ASSAY_SNAPSHOT_FROM', 'http://host/?x=1'],
    ['ASSAY_CLUSTER_SECRET', 'too short'],
    ['ASSAY_SNAPSHOT_BEHIND_MAX_SECONDS', '-1'],
  ])('refuse %s=%s', (variable, text) => refused({ ...S3, [variable]: text }, variable));

  it('never print a secret', () => {
    for (const [variable, text] of [
      ['ASSAY_CLUSTER_SECRET', 'hush hush'],
      ['ASSAY_S3_SECRET_ACCESS_KEY', 'hush hush'],
      ['ASSAY_SNAPSHOT_FROM', 'http://user:hush@host/'],
    ] as const) {
      let message = '';
      try {
        loadConfig({ [variable]: text });
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain(variable);
      expect(message).not.toContain('hush');
    }
  });
});
