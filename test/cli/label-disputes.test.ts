/** Reports and disputes on the command line, over the shipped labels: what the operator sees, what holds afterwards, and the audit log. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ATTRIBUTION_LIMITS } from '../../src/attribution/limits.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { runCommand } from './run-command.ts';

const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';
const LAZARUS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';

const LONG = 'x'.repeat(ATTRIBUTION_LIMITS.reportReasonCharsMax + 1);

describe('disputes and reports', () => {
  let folder: TempFolder;
  beforeAll(async () => {
    folder = tempFolder();
    await done('index', 'build');
  });
  afterAll(() => folder.remove());

  async function done(...args: string[]): Promise<string> {
    const { code, out, err } = await runCommand(folder.path, args);
    expect([code, err]).toEqual([0, '']);
    return out;
  }
  const json = async (...args: string[]) => JSON.parse(await done(...args, '--json'));
  const labelsOf = async (address: string): Promise<{ source: string; category: string; tags: string[] }[]> =>
    (await json('lookup', 'ETH', address)).labels;

  it('files a report on labels that exist, lists it, and decides it with an entry in the audit log', async () => {
    const { report, isNew } = await json('labels', 'report', 'ETH', BINANCE, '--reason', 'not theirs');
    expect([report.state, isNew]).toEqual(['OPEN', true]);
    const again = await json('labels', 'report', 'ETH', BINANCE, '--reason', 'again');
    expect(again).toMatchObject({ isNew: false, report: { id: report.id, reason: 'not theirs' } });
    const nothing = await runCommand(folder.path, [
      ...['labels', 'report', 'ETH', `0x${'9'.repeat(40)}`, '--reason', 'x'],
    ]);
    expect([nothing.code, nothing.err]).toEqual([1, expect.stringContaining('has no label on ETH')]);
    expect(await done('labels', 'reports')).toContain(report.id);
    await done('labels', 'decide', report.id, '--state', 'REJECTED', '--note', 'it is theirs');
    expect(await json('labels', 'reports', '--state', 'OPEN')).toEqual({ reports: [], nextCursor: null });
    const audit = await done('audit', 'show');
    expect(audit).toContain('label.report');
    expect(audit).toContain('REJECTED: it is theirs');
  });

  it('puts an own label with the reason before the others, and takes it back', async () => {
    const before = await labelsOf(BINANCE);
    const { report } = await json('labels', 'report', 'ETH', BINANCE, '--reason', 'sold last year');
    await done(
      ...['labels', 'dispute', 'ETH', BINANCE, '--reason', 'sold to a fund', '--entity', 'a-fund'],
      ...['--name', 'A Fund', '--category', 'custodian', '--corrects', 'exchange', '--report', report.id],
    );
    await done('index', 'build');
    expect((await labelsOf(BINANCE))[0]).toMatchObject({
      ...{ source: 'own', name: 'A Fund', entityId: 'a-fund', category: 'CUSTODIAN' },
      tags: ['disputed', 'reason: sold to a fund', 'corrects:EXCHANGE'],
    });
    expect(await json('labels', 'disputes')).toMatchObject([{ address: BINANCE, reason: 'sold to a fund' }]);
    expect((await json('attribute', 'explain', 'ETH', BINANCE)).dispute).toMatchObject({
      ...{ reason: 'sold to a fund', name: 'A Fund', category: 'CUSTODIAN' },
    });
    expect((await json('labels', 'reports', '--state', 'ACCEPTED')).reports).toMatchObject([
      { id: report.id, note: 'sold to a fund' },
    ]);
    // A repeated dispute replaces the first one.
    await done('labels', 'dispute', 'ETH', BINANCE, '--reason', 'nobody knows');
    await done('index', 'build');
    expect((await labelsOf(BINANCE))[0]).toMatchObject({ category: 'OTHER', name: 'Disputed attribution' });
    await done('labels', 'undispute', 'ETH', BINANCE, '--reason', 'an error');
    await done('index', 'build');
    expect(await labelsOf(BINANCE)).toEqual(before);
    const audit = await done('audit', 'show');
    for (const text of ['label.dispute', 'CUSTODIAN: sold to a fund', 'label.undispute', 'an error'])
      expect(audit).toContain(text);
  });

  it('does not clear an address of a sanction', async () => {
    const screened = async () =>
      (await json('screen', 'ETH', LAZARUS)) as { sanctioned: boolean; riskScore: number };
    const before = await screened();
    expect(before.sanctioned).toBe(true);
    await done(
      ...['labels', 'dispute', 'ETH', LAZARUS, '--reason', 'no', '--corrects', 'SANCTIONED_ENTITY'],
      ...['--category', 'EXCHANGE'],
    );
    await done('index', 'build');
    const after = await screened();
    expect([after.sanctioned, after.riskScore]).toEqual([true, before.riskScore]);
  });

  it.each([
    ['a reason of spaces', ['dispute', 'ETH', BINANCE, '--reason', ' '], /^assay: --reason: must have 1 to/m],
    [
      'a control character',
      ['dispute', 'ETH', BINANCE, '--reason', 'a\u0007'],
      /^assay: --reason: must have/m,
    ],
    ['a long reason', ['dispute', 'ETH', BINANCE, '--reason', LONG], /^assay: --reason: must have/m],
    [
      'an unknown category',
      ['dispute', 'ETH', BINANCE, '--reason', 'x', '--category', 'NICE'],
      /^assay: category: 'NICE'/m,
    ],
    [
      'an unknown category to correct',
      ['dispute', 'ETH', BINANCE, '--reason', 'x', '--corrects', 'NICE'],
      /^assay: --corrects: 'NICE'/m,
    ],
    ['a wrong address', ['dispute', 'ETH', '0x12', '--reason', 'x'], /^assay: address: /m],
    ['a dispute that does not exist', ['undispute', 'ETH', BINANCE, '--reason', 'x'], /has no dispute/],
    ['a report that does not exist', ['decide', 'rpt_none', '--state', 'ACCEPTED'], /there is no report/],
    ['an unknown decision', ['decide', 'rpt_none', '--state', 'OPEN'], /choices are ACCEPTED, REJECTED/],
    ['a long page', ['reports', '--limit', '1000'], /^assay: --limit/m],
  ] as const)('refuses %s and changes nothing', async (_, args, message) => {
    const before = await json('labels', 'disputes');
    const { code, err } = await runCommand(folder.path, ['labels', ...args]);
    expect([code === 0, err]).toEqual([false, expect.stringMatching(message)]);
    expect(await json('labels', 'disputes')).toEqual(before);
  });
});
