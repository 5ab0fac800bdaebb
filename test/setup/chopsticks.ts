/**
 * A real runtime of Polkadot's Asset Hub without a network: chopsticks over a chain specification, installed below node_modules/.cache from
 * a lockfile of its own at first use. `ASSAY_TEST_DOT_SPEC` names the specification: a raw one (with the runtime's code) of a parachain
 * with blocks authored by Aura, such as Asset Hub's. No specification is installed, because the packages that contain one are under
 * the GPL.
 */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';
import { installedPackages } from './installed-packages.ts';
import { ended } from './litecoind.ts';

const source = join(projectRoot, 'test', 'setup', 'polkadot');
const specification = process.env.ASSAY_TEST_DOT_SPEC ?? '';

/** Whether the long tests have a runtime to run. */
export const hasChopsticks =
  process.env.ASSAY_TEST_LONG === '1' && specification !== '' && existsSync(specification);

export type Account = 'Alice' | 'Bob' | 'Eve';

/** A call of a pallet, which may have names of accounts among its arguments, and its signer. */
export type PalletCall = readonly [pallet: string, call: string, args: readonly unknown[], sender: Account];

/** A block as the library of Polkadot itself reads it. */
export interface ReadBlock {
  readonly hash: string;
  readonly height: number;
  /** Hashes of its extrinsics; the first two are the author's own. */
  readonly extrinsics: readonly string[];
  readonly events: readonly {
    readonly index: number;
    readonly extrinsic: number | null;
    readonly name: string;
    readonly data: Readonly<Record<string, string>>;
  }[];
  readonly free: Readonly<Record<Account, string>>;
}

export interface Chopsticks {
  readonly url: string;
  readonly genesis: string;
  /** Public keys in hex. */
  readonly keys: Readonly<Record<Account, string>>;
  block(calls: readonly PalletCall[]): Promise<ReadBlock>;
  stop(): Promise<void>;
}

export async function startChopsticks(): Promise<Chopsticks> {
  const folder = installedPackages('polkadot');
  if (folder === null) throw new Error('There is no chopsticks.');
  const child = fork(join(source, 'run-chopsticks.cjs'), [folder, specification], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  type Message = Partial<Pick<Chopsticks, 'url' | 'genesis' | 'keys'>> & {
    readonly id?: number;
    readonly made?: ReadBlock;
    readonly error?: string;
  };
  let lastId = 0;
  const answers = new Map<number, (message: Message) => void>();
  const started = await new Promise<Message>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`chopsticks ended with ${code}`)));
    child.on('message', (message: Message) => {
      if (message.id === undefined) resolve(message);
      else answers.get(message.id)?.(message);
    });
  });
  return {
    url: started.url!,
    genesis: started.genesis!,
    keys: started.keys!,
    async block(calls) {
      const id = ++lastId;
      const answered = new Promise<Message>((resolve) => answers.set(id, resolve));
      child.send({ id, calls });
      const { made, error } = await answered;
      if (made === undefined) throw new Error(error);
      return made;
    },
    stop: () => ended(child),
  };
}
