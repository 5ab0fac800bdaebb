/**
 * Measures the goals of the dashboard that are times, each several times; the fastest run counts, because the machine may be busy.
 * It needs `npm run build` of the project and Debian's chromium.
 *
 * - screening: from the start of the navigation, with an empty cache, until the verdict is shown and a tab has answered a press
 * - trace: from the choice of a file with 5,000 addresses and 10,000 edges until two frames after it is drawn; the places must be equal
 * - oracle: requests a second with the dashboard, of which a browser loads every file once a second, as a part of those without it
 *
 * Usage: node dashboard/measure.mjs [screening|trace|oracle]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { readPlans } from '../dist/src/accounts/plans.js';
import { builtDashboard } from '../dist/src/base/paths.js';
import { largeTrace, openDashboardWorld, SUBJECT } from '../dist/test/e2e/dashboard-world.js';
import { openWorld } from '../dist/test/http/world.js';
import { startChromium } from '../dist/test/setup/chromium.js';

const RUNS = 7;
const LOOK = { viewport: { width: 1280, height: 800 }, locale: 'en-GB' };
const out = (line) => process.stdout.write(`${line}\n`);
const say = (name, runs, goal) =>
  out(
    `${name}: ${runs.map(Math.round).join(', ')} ms; fastest ${Math.round(Math.min(...runs))} ms, goal ${goal} ms`,
  );

/** Runs in the page: notes when the verdict is shown, and when the tab that is then pressed has changed. */
const NOTE_TIMES = `new MutationObserver((_, observer) => {
  const tab = document.querySelector('[role=tab]:nth-of-type(2)');
  if (document.querySelector('.verdict .risk') === null || tab === null) return;
  observer.disconnect();
  const shown = performance.now();
  tab.click();
  const look = () => {
    if (tab.getAttribute('aria-selected') !== 'true') return requestAnimationFrame(look);
    globalThis.times = { shown, ready: performance.now() };
  };
  requestAnimationFrame(look);
}).observe(document, { subtree: true, childList: true });`;

/** Returns what the page has noted. The policy forbids `waitForFunction`, which evaluates its text inside the page. */
async function timesOf(page) {
  for (;;) {
    const times = await page.evaluate('globalThis.times');
    if (times !== undefined) return times;
    await page.waitForTimeout(100);
  }
}

async function measureScreening(browser, { server, person }) {
  const session = await person();
  const runs = [];
  for (let run = 0; run < RUNS; run++) {
    // A context of its own has an empty cache.
    const context = await browser.newContext(LOOK);
    await context.addCookies([{ name: 'assay_session', value: session, url: server.url, httpOnly: true }]);
    const page = await context.newPage();
    await page.addInitScript(NOTE_TIMES);
    await page.goto(`${server.url}/screening/ETH/${SUBJECT}`);
    const { ready } = await timesOf(page);
    runs.push(ready);
    await context.close();
  }
  say('screening interactive', runs, 1_500);
}

async function measureTrace(browser, { world, server, person }) {
  const session = await person('trace@example.org');
  const path = join(world.folder, 'large.assay.json');
  writeFileSync(path, largeTrace());
  const runs = [];
  const layouts = new Set();
  const context = await browser.newContext(LOOK);
  await context.addCookies([{ name: 'assay_session', value: session, url: server.url, httpOnly: true }]);
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  for (let run = 0; run < RUNS; run++) {
    await page.goto(`${server.url}/trace/ETH/${SUBJECT}`);
    await page.locator('.trace-canvas[data-frames]').waitFor();
    await page.evaluate(`addEventListener('change', () => {
      const began = performance.now();
      const look = () => {
        const canvas = document.querySelector('.trace-canvas[data-frames]');
        if (canvas?.dataset.nodes !== '5000' || canvas.dataset.edges !== '10000') return requestAnimationFrame(look);
        requestAnimationFrame(() => requestAnimationFrame(() => {
          globalThis.times = { drawn: performance.now() - began, layout: canvas.dataset.layout };
        }));
      };
      look();
    }, { capture: true, once: true })`);
    await page.locator('input[type=file]').setInputFiles(path);
    const { drawn, layout } = await timesOf(page);
    runs.push(drawn);
    layouts.add(layout);
  }
  await context.close();
  say('trace drawn', runs, 3_000);
  out(`places of ${RUNS} runs: ${layouts.size === 1 ? 'equal' : 'different'} (${[...layouts].join(', ')})`);
}

/** Requests a second of the oracle while `beside` runs. */
async function oracleRate(world, key, beside) {
  const timer = beside === null ? null : setInterval(() => void beside(), 1_000);
  const { requests } = await autocannon({
    url: `${world.url}/api/v1/oracle/address/ETH/0x28c6c06298d514db089934071355e5743bf21d60`,
    headers: { authorization: `Bearer ${key}` },
    connections: 16,
    duration: 5,
    workers: 1,
  });
  clearInterval(timer ?? undefined);
  return requests.average;
}

async function measureOracle() {
  const plans = readPlans();
  const limits = Object.fromEntries(Object.keys(plans.FREE.rateLimits).map((name) => [name, 1_000_000_000]));
  const fast = { ...plans, FREE: { ...plans.FREE, rateLimits: { ...plans.FREE.rateLimits, ...limits } } };
  const { files } = JSON.parse(readFileSync(join(builtDashboard, 'manifest.json'), 'utf8'));
  const ratios = [];
  const without = await openWorld({ backend: 'uws', plans: fast, dashboardFolder: '/nonexistent' });
  const withIt = await openWorld({ backend: 'uws', plans: fast });
  const keys = [await without.key(), await withIt.key()];
  const loadAll = () =>
    Promise.all(
      files.map(({ path }) =>
        fetch(withIt.url + path, { headers: { 'accept-encoding': 'br' } }).then((response) =>
          response.arrayBuffer(),
        ),
      ),
    ).catch(() => undefined);
  for (let round = 0; round < RUNS; round++) {
    const bare = await oracleRate(without, keys[0], null);
    const idle = await oracleRate(withIt, keys[1], null);
    const busy = await oracleRate(withIt, keys[1], loadAll);
    ratios.push({ idle: idle / bare, busy: busy / bare });
    out(
      `oracle ${Math.round(bare)}/s without, ${Math.round(idle)}/s with, ${Math.round(busy)}/s while files are loaded`,
    );
  }
  await Promise.all([without.close(), withIt.close()]);
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  for (const name of ['idle', 'busy'])
    out(
      `oracle with the dashboard, ${name}: ${median(ratios.map((ratio) => ratio[name])).toFixed(3)} of that without it`,
    );
}

const [wanted] = process.argv.slice(2);
if (wanted === undefined || wanted === 'screening' || wanted === 'trace') {
  const world = await openDashboardWorld();
  const browser = await startChromium();
  try {
    if (wanted !== 'trace') await measureScreening(browser, world);
    if (wanted !== 'screening') await measureTrace(browser, world);
  } finally {
    await browser.close();
    await world.end();
  }
}
if (wanted === undefined || wanted === 'oracle') await measureOracle();
process.exit(0);
