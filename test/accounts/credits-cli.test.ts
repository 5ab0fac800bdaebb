/** `assay credits` and `assay ledger`, run by an operator while a server runs. */
import { afterAll, describe, expect, it } from 'vitest';
import { ask, newWorld } from '../e2e/program.ts';

const UNLABELLED = '0x0000000000000000000000000000000000c0ffee';

describe('an operator', () => {
  const world = newWorld();
  afterAll(() => world.end());

  it('grants credits that a running server can spend at once', async () => {
    const server = await world.serve();
    expect((await world.here(['plan', 'set', 'local', 'FREE'])).code).toBe(0);
    const screen = () =>
      ask(server, server.firstKey, '/api/v1/screening', { address: UNLABELLED, chain: 'ETH' });
    for (let left = 9; left >= 0; left--)
      expect((await screen()).body).toMatchObject({ success: true, credits: { remaining: left } });
    const refused = await screen();
    expect(refused.status).toBe(402);
    const granted = await world.here(['credits', 'grant', 'local', '50', '--reason', 'a gift']);
    expect(granted).toMatchObject({ code: 0, out: "GRANT 50 to 'local': the balance is 50.\n" });
    expect((await screen()).body).toMatchObject({ credits: { remaining: 49 } });
    const adjusted = await world.here(['credits', 'adjust', 'local', '-9', '--reason', 'too much', '--json']);
    expect(JSON.parse(adjusted.out)).toMatchObject({ type: 'ADJUSTMENT', amount: -9, balance: 40 });
    const verified = await world.here(['ledger', 'verify', '--json']);
    expect(JSON.parse(verified.out)).toEqual({ entries: 14, accounts: 1, balance: 40, faults: [] });
    const usage = await ask(server, server.firstKey, '/api/v1/usage?limit=3');
    expect(usage.body.data).toMatchObject({
      balance: 40,
      history: [
        { type: 'ADJUSTMENT', reference: 'too much' },
        { type: 'SCREENING', reference: `screening ${UNLABELLED} ETH` },
        { type: 'GRANT', amount: 50, reference: 'a gift' },
      ],
    });
    expect(await server.stop()).toBe(0);
    const shown = await world.here(['credits', 'show', 'local']);
    expect(shown.out).toContain("'local' has 40 credits: 0 free ones until");
  });

  it.each([
    [['credits', 'grant', 'nobody', '5'], 1, "account: there is no account 'nobody'"],
    [
      ['credits', 'grant', 'local', 'five'],
      2,
      "credits: must be a whole number of at most 10 digits (got 'five')",
    ],
    [['credits', 'grant', 'local', '0'], 2, 'amount'],
    [['credits', 'adjust', 'local', '-1000', '--reason', 'x'], 2, 'at least -40'],
  ])('%j fails with exit code %d and one line that says why', async (args, code, said) => {
    const outcome = await world.here(args);
    expect(outcome).toMatchObject({ code, out: '' });
    expect(outcome.err.trimEnd().split('\n')).toHaveLength(1);
    expect(outcome.err).toContain(said);
  });

  it.each(['credits', 'ledger'])('%s --help lists its arguments', async (command) => {
    const outcome = await world.here([command, '--help']);
    expect(outcome).toMatchObject({ code: 0, out: expect.stringContaining(`Usage: assay ${command}`) });
  });
});
