/** The behaviour that every implementation of the keys of receipts shares. The test of each implementation runs it. */
import { createPublicKey, verify } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReceiptJwk } from '../../src/receipts/jws.ts';
import { jwksOf, type SigningKeys } from '../../src/receipts/keys.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';

export interface SigningKeysWorld {
  readonly keys: SigningKeys;
  /** Opens the same keys as another process does. */
  again(): Promise<SigningKeys>;
  /** Milliseconds since the epoch of the world's clock. */
  now: number;
  dispose(): Promise<void>;
}

export function signingKeysConformance(makeWorld: () => Promise<SigningKeysWorld>): void {
  let world: SigningKeysWorld;
  beforeEach(async () => {
    world = await makeWorld();
  });
  afterEach(() => world.dispose());

  const seconds = (): number => Math.floor(world.now / 1000);

  it('creates the first key at the first use, once', async () => {
    expect(world.keys.list()).toEqual([]);
    const signers = await Promise.all(Array.from({ length: 5 }, () => world.keys.active()));
    expect(new Set(signers.map(({ kid }) => kid)).size).toBe(1);
    expect(world.keys.list()).toMatchObject([
      {
        status: 'ACTIVE',
        createdAtMs: world.now,
        endsAtMs: null,
        jwk: { iat: seconds() - RECEIPT_LIMITS.retireGraceSeconds },
      },
    ]);
    expect(world.keys.list()[0]?.jwk).not.toHaveProperty('exp');
  });

  it('signs with the key that the JWK has', async () => {
    const signer = await world.keys.active();
    const bytes = Buffer.from('some bytes');
    const signature = await signer.sign(bytes);
    const [jwk] = jwksOf(world.keys.list()).keys as [ReceiptJwk];
    expect(jwk).toMatchObject({ kid: signer.kid, kty: 'OKP', crv: 'Ed25519', alg: 'Ed25519', use: 'sig' });
    const key = createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, format: 'jwk' });
    expect(verify(null, bytes, key, signature)).toBe(true);
  });

  it('shows no private part of a key', async () => {
    await world.keys.active();
    expect(Object.keys(world.keys.list()[0] ?? {}).sort()).toEqual([
      'createdAtMs',
      'endsAtMs',
      'jwk',
      'kid',
      'status',
    ]);
    expect(world.keys.list()[0]?.jwk).not.toHaveProperty('d');
  });

  it('rotates: the new key signs, and the old one is kept with its end', async () => {
    const first = await world.keys.active();
    world.now += 1_000_000;
    const second = await world.keys.rotate();
    expect((await world.keys.active()).kid).toBe(second.kid);
    expect(second.kid).not.toBe(first.kid);
    const end = seconds() + RECEIPT_LIMITS.retireGraceSeconds;
    expect(world.keys.list()).toMatchObject([
      { kid: first.kid, status: 'RETIRED', endsAtMs: end * 1000, jwk: { exp: end } },
      { kid: second.kid, status: 'ACTIVE', endsAtMs: null },
    ]);
  });

  it('is valid for receipts of now if the clock was set back since the key was created', async () => {
    const first = await world.keys.active();
    await new Promise(setImmediate);
    const [before] = world.keys.list();
    world.now -= 60_000;
    expect((await world.keys.active()).kid).toBe(first.kid);
    expect(world.keys.list()).toEqual([before]);
    await new Promise(setImmediate);
    world.now -= 86_400_000;
    expect((await world.keys.active()).kid).toBe(first.kid);
    const iat = seconds() - RECEIPT_LIMITS.retireGraceSeconds;
    expect(world.keys.list()).toMatchObject([{ kid: first.kid, status: 'ACTIVE', jwk: { iat } }]);
    expect(world.keys.list()).toHaveLength(1);
    world.now += 86_400_000;
    await new Promise(setImmediate);
    await world.keys.active();
    expect(world.keys.list()).toMatchObject([{ jwk: { iat } }]);
  });

  it('has the same keys after a restart', async () => {
    const signer = await world.keys.active();
    const bytes = Buffer.from('x');
    const before = await signer.sign(bytes);
    const again = await world.again();
    expect((await again.active()).kid).toBe(signer.kid);
    expect(Buffer.from(await (await again.active()).sign(bytes))).toEqual(Buffer.from(before));
  });
}
