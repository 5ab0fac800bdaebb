/** A real front end whose oracle also has a warning, and an address that belongs to no list and no label. */
import { openWorld, UNKNOWN, type World, worldUseCases } from '../http/world.ts';

export const WARNED = '0x00000000000000000000000000000000000bad00';

export interface OracleWorld extends World {
  /** Addresses of the verdicts so far, in lower case. */
  readonly asked: readonly string[];
  /** Sets `ttlSeconds` of the following verdicts. */
  setTtl(seconds: number): void;
}

/** Opens the front end on node:http, which ends its connections at once when it closes. */
export async function openOracleWorld(): Promise<OracleWorld> {
  const asked: string[] = [];
  let ttlSeconds = 60;
  const { oracle } = worldUseCases();
  const scratch = Buffer.alloc(16 * 1024);
  const world = await openWorld({
    backend: 'node',
    useCases: {
      oracle(chain, address, quota, out, offset) {
        const size = oracle(chain, address, quota, scratch, 0);
        const verdict = JSON.parse(scratch.toString('utf8', 0, size)) as Record<string, unknown>;
        asked.push(address.toLowerCase());
        const changed = {
          ...verdict,
          ttlSeconds,
          assessed: address.toLowerCase() !== UNKNOWN,
          ...(address.toLowerCase() === WARNED ? warning : {}),
        };
        const bytes = Buffer.from(JSON.stringify(changed));
        if (offset + bytes.length > out.length) return -1;
        out.set(bytes, offset);
        return offset + bytes.length;
      },
    },
  });
  return Object.assign(world, {
    asked,
    setTtl(seconds: number) {
      ttlSeconds = seconds;
    },
  });
}

const warning = {
  verdict: 'warning',
  score: 45,
  riskLevel: 'MEDIUM',
  reasons: [
    {
      code: 'EXPOSURE',
      severity: 'MEDIUM',
      category: 'MIXER',
      message: 'Received 30 % from mixers.',
      source: null,
      verified: true,
    },
  ],
};
