/**
 * Runs chopsticks over a chain specification, without a network: `node run-chopsticks.cjs <folder of the packages> <specification>`. The
 * parent sends requests over IPC: `{ calls: [[pallet, call, args, sender]] }` makes a block of the calls.
 */
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const [folder, specification] = process.argv.slice(2);
const load = (name) => require(require.resolve(name, { paths: [join(folder, 'node_modules')] }));
const { setupWithServer } = load('@acala-network/chopsticks');
const { ApiPromise, HttpProvider } = load('@polkadot/api');
const { Keyring } = load('@polkadot/keyring');
const { blake2AsHex, cryptoWaitReady } = load('@polkadot/util-crypto');

// A test that fails before it stops its node must not leave it running.
process.on('disconnect', () => process.exit());

/** Coins of an account that exists from the genesis block on. */
const START = 10n ** 20n;

function withAccounts(spec, keys) {
  const top = { ...spec.genesis.raw.top };
  for (const key of keys) {
    const account = Buffer.alloc(80);
    // No transactions yet, one provider; free coins; nothing reserved or frozen.
    account.writeUInt32LE(1, 8);
    account.writeBigUInt64LE(START & (2n ** 64n - 1n), 16);
    account.writeBigUInt64LE(START >> 64n, 24);
    const prefix = '0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9';
    top[prefix + blake2AsHex(key, 128).slice(2) + Buffer.from(key).toString('hex')] =
      `0x${account.toString('hex')}`;
  }
  return { id: spec.id, name: spec.name, properties: spec.properties, genesis: { raw: { top } } };
}

(async () => {
  await cryptoWaitReady();
  const keyring = new Keyring({ type: 'sr25519' });
  const pairs = Object.fromEntries(
    ['Alice', 'Bob', 'Eve'].map((name) => [name, keyring.addFromUri(`//${name}`)]),
  );
  const spec = JSON.parse(readFileSync(specification, 'utf8'));
  const { addr } = await setupWithServer({
    genesis: withAccounts(spec, [pairs.Alice.publicKey, pairs.Bob.publicKey]),
    port: 0,
    'build-block-mode': 'Manual',
  });
  const url = `http://127.0.0.1:${addr.split(':').at(-1)}`;
  const api = await ApiPromise.create({ provider: new HttpProvider(url), noInitWarn: true });
  const ask = async (method, ...params) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = await response.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };

  async function block(calls) {
    const nonces = {};
    const transactions = [];
    for (const [pallet, call, args, sender] of calls) {
      const pair = pairs[sender];
      nonces[sender] ??= (await api.query.system.account(pair.address)).nonce.toNumber();
      const extrinsic = api.tx[pallet][call](...args.map((arg) => pairs[arg]?.address ?? arg));
      await extrinsic.signAsync(pair, { nonce: nonces[sender]++, era: 0 });
      transactions.push(extrinsic.toHex());
    }
    const hash = await ask('dev_newBlock', transactions.length === 0 ? {} : { transactions });
    const at = await api.at(hash);
    const { block } = await api.rpc.chain.getBlock(hash);
    return {
      hash,
      height: block.header.number.toNumber(),
      extrinsics: block.extrinsics.map((extrinsic) => extrinsic.hash.toHex()),
      // As the library of Polkadot itself reads them.
      events: (await at.query.system.events()).map(({ phase, event }, index) => ({
        index,
        extrinsic: phase.isApplyExtrinsic ? phase.asApplyExtrinsic.toNumber() : null,
        name: `${event.section}.${event.method}`,
        data: Object.fromEntries(
          event.data.map((value, n) => [event.data.names?.[n] ?? n, value.toString()]),
        ),
      })),
      free: Object.fromEntries(
        await Promise.all(
          Object.entries(pairs).map(async ([name, { address }]) => [
            name,
            (await at.query.system.account(address)).data.free.toString(),
          ]),
        ),
      ),
    };
  }
  process.on('message', ({ id, calls }) => {
    block(calls).then(
      (made) => process.send({ id, made }),
      (error) => process.send({ id, error: String(error.stack ?? error) }),
    );
  });
  process.send({
    url,
    keys: Object.fromEntries(
      Object.entries(pairs).map(([name, { publicKey }]) => [name, Buffer.from(publicKey).toString('hex')]),
    ),
    genesis: await ask('chain_getBlockHash', 0),
  });
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
