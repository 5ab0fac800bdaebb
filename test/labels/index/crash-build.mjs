// Builds one snapshot after the other until it is killed. Runs built JavaScript.
const [, , segment, folder, buildUrl, clockUrl, logUrl] = process.argv;
const { buildSnapshot } = await import(buildUrl);
const { systemClock } = await import(clockUrl);
const { silentLogger } = await import(logUrl);

const source = { id: 'own', dataset: 'crash', publishedAt: null, importedAt: '', url: null, lists: [] };
process.stdout.write('ready\n');
for (;;) {
  await buildSnapshot(
    { segments: [{ path: segment, source }], folder, compareLabels: (a, b) => b.confidence - a.confidence },
    { clock: systemClock, log: silentLogger },
  );
}
