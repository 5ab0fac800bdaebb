/** Settings: replication of labels, names and registers between nodes. */
import { optionalBucket, optionalHostAndPort, optionalPullPlace } from '../state/snapshot-places.ts';
import { hostName, number, optionalKey, optionalToken, optionalUrl } from './readers.ts';
import { setting } from './setting.ts';

export const replicationSettings = {
  snapshotListen: setting(
    'ASSAY_SNAPSHOT_LISTEN',
    '',
    optionalHostAndPort,
    'Host and port from which other nodes can pull label snapshots, such as `0.0.0.0:8090`.',
  ),
  snapshotFrom: setting(
    'ASSAY_SNAPSHOT_FROM',
    '',
    optionalPullPlace,
    'Location from which this node pulls its label snapshots: `http://host:8090` or `s3://bucket/prefix`. Such a node builds and syncs none itself.',
  ),
  snapshotStore: setting(
    'ASSAY_SNAPSHOT_STORE',
    '',
    optionalBucket,
    'Object store (S3) to which this node uploads its label snapshots: `s3://bucket/prefix`.',
  ),
  snapshotBehindMaxSeconds: setting(
    'ASSAY_SNAPSHOT_BEHIND_MAX_SECONDS',
    '0',
    number(0, 30 * 24 * 3_600),
    'Replication lag in seconds after which /ready of a node that pulls returns 503. 0: never.',
  ),
  s3Endpoint: setting('ASSAY_S3_ENDPOINT', '', optionalUrl, 'URL of the object store. Default: AWS.'),
  s3Region: setting('ASSAY_S3_REGION', 'us-east-1', hostName, 'Region of the bucket.'),
  s3AccessKeyId: setting('ASSAY_S3_ACCESS_KEY_ID', '', optionalKey, 'Access key id of the object store.'),
  s3SecretAccessKey: setting(
    'ASSAY_S3_SECRET_ACCESS_KEY',
    '',
    optionalKey,
    'Secret access key of the object store. It is never logged.',
  ),
  s3SessionToken: setting(
    'ASSAY_S3_SESSION_TOKEN',
    '',
    optionalToken,
    'Session token of temporary credentials.',
  ),
} as const;
