/**
 * A chain with contracts whose creators and code are known: real blocks of a local node, contracts of OpenZeppelin, and contracts that
 * look like them. The shares of the kinds are chosen here; those of real chains are not known.
 */
import { getCreateAddress } from 'ethers';
import type { Anvil } from '../test/setup/anvil.ts';
import {
  answering,
  answeringCallers,
  creating,
  delegating,
  IMPLEMENTATION_SLOT,
  minimal,
  PROXIABLE_SLOT,
  pretending,
  UPGRADED,
  ZEPPELIN_SLOT,
} from '../test/setup/contract-code.ts';
import { creationOf, proxyDeployer } from '../test/setup/proxies.ts';
import type { Planted } from './planted-facts.ts';

/** Entities of the labels that the chain's accounts and code have. */
export interface PlantedLabel {
  readonly address: string;
  readonly entity: string;
}

export interface PlantedChain {
  readonly labels: readonly PlantedLabel[];
  readonly creators: readonly Planted[];
  readonly proxies: readonly Planted[];
}

/** Code that creates a contract from its calldata. */
const FACTORY = '3660006000373660006000f000';

/** Plants `rounds` contracts of each kind. The first accounts of the node are labelled, the others are not. */
export async function plantContracts(anvil: Anvil, rounds: number): Promise<PlantedChain> {
  const accounts = await anvil.rpc<string[]>('eth_accounts');
  const half = Math.floor(accounts.length / 2);
  const labelled = accounts.slice(0, half);
  const others = accounts.slice(half);
  const { deploy, send } = proxyDeployer(anvil);
  const vesting = creationOf('VestingWallet', accounts[0], 1, 1);
  const owner = others[0] as string;
  const [usdc, vault, nobodys] = [
    await deploy(vesting, owner),
    await deploy(vesting, owner),
    await deploy(vesting, owner),
  ];
  const factory = await deploy(creating(FACTORY), owner);
  let nonce = 1;
  /** Creates a contract through the factory, and returns its address. */
  const throughFactory = async (from: string, data: string): Promise<string> => {
    await anvil.send({ from, to: factory, data, gas: 2_000_000 });
    await anvil.mine();
    return getCreateAddress({ from: factory, nonce: nonce++ });
  };
  const creators: Planted[] = [];
  const proxies: Planted[] = [];
  const proxy = async (kind: string, entity: string | null, data: string, from = owner): Promise<string> => {
    const address = await deploy(data, from);
    proxies.push({ address, kind, expected: entity === null ? null : `code-of-${entity}` });
    return address;
  };
  const event = [[UPGRADED, usdc]] as const;
  const stored = [IMPLEMENTATION_SLOT, usdc] as const;
  const beacon = await deploy(creationOf('UpgradeableBeacon', usdc, owner), owner);
  // It answers its proxies otherwise than a node that asks.
  const lying = await deploy(creating(answeringCallers(usdc, nobodys), { logs: event }), owner);
  for (let round = 0; round < rounds; round++) {
    const from = labelled[round % labelled.length] as string;
    const other = others[round % others.length] as string;
    const entity = `created-by-entity-${labelled.indexOf(from)}`;
    const plain = creating('00');
    for (let at = 0; at < 8; at++)
      creators.push({ address: await deploy(plain, from), kind: 'created', expected: entity });
    creators.push({
      address: await throughFactory(from, plain),
      kind: 'through a factory',
      expected: entity,
    });
    creators.push({
      address: await deploy(plain, other),
      kind: 'by an account without a label',
      expected: null,
    });
    creators.push({
      address: await throughFactory(other, plain),
      kind: 'through a factory by others',
      expected: null,
    });

    await proxy('EIP-1967', 'usdc', creationOf('ERC1967Proxy', usdc, '0x'));
    const managed = await proxy(
      'EIP-1967, upgraded',
      'vault',
      creationOf('TransparentUpgradeableProxy', usdc, owner, '0x'),
    );
    const admin = getCreateAddress({ from: managed, nonce: 1 });
    await send(admin, 'ProxyAdmin', 'upgradeAndCall', [managed, vault, '0x'], owner);
    await proxy('beacon', 'usdc', creationOf('BeaconProxy', beacon, '0x'));
    await proxy('EIP-1167', 'usdc', creating(minimal(usdc)));
    await proxy(
      'ZeppelinOS, no event',
      'vault',
      creating(delegating(ZEPPELIN_SLOT), { stored: [ZEPPELIN_SLOT, vault] }),
    );
    await proxy(
      'EIP-1822, no event',
      'usdc',
      creating(delegating(PROXIABLE_SLOT), { stored: [PROXIABLE_SLOT, usdc] }),
    );
    await proxy('EIP-1967, no event', 'usdc', creating(delegating(IMPLEMENTATION_SLOT), { stored }));
    const clone = await throughFactory(owner, creating(minimal(usdc)));
    proxies.push({ address: clone, kind: 'EIP-1167 of an unknown factory', expected: 'code-of-usdc' });

    await proxy('code without a label', null, creationOf('ERC1967Proxy', nobodys, '0x'));
    await proxy('only an event', null, creating('00', { logs: event }));
    await proxy(
      'slot, no delegation',
      null,
      creating(`7f${IMPLEMENTATION_SLOT.slice(2)}5000`, { stored, logs: event }),
    );
    await proxy(
      'delegates to another slot',
      null,
      creating(delegating(`0x${'0'.repeat(63)}1`), { stored, logs: event }),
    );
    const account = creating(delegating(IMPLEMENTATION_SLOT), {
      stored: [IMPLEMENTATION_SLOT, from],
      logs: [[UPGRADED, from]],
    });
    await proxy('names an account', null, account);
    await proxy('answers like a beacon', null, creating(answering(usdc), { logs: event }));
    if (round % 5 === 0) {
      await proxy(
        'slot, delegates elsewhere',
        null,
        creating(pretending(IMPLEMENTATION_SLOT, nobodys), { stored, logs: event }),
      );
      await proxy('beacon that lies to nodes', null, creationOf('BeaconProxy', lying, '0x'));
    }
  }
  const labels = [
    ...labelled.map((address, at) => ({ address, entity: `entity-${at}` })),
    ...[
      { address: usdc, entity: 'usdc' },
      { address: vault, entity: 'vault' },
    ],
  ];
  return { labels, creators, proxies };
}
