/** `assay serve`: serves the API, or the roles of this node, until it is stopped. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import type { Plan } from '../accounts/plans.ts';
import { messageOf } from '../base/errors.ts';
import { ROLES, readRoles } from '../nodes/roles.ts';
import { writeTextAtomically } from '../state/atomic-file.ts';
import { FIRST_KEY_FILE } from '../state/data-folder.ts';
import type { Terminal } from './context.ts';
import type { Served, Services } from './services.ts';

/** An address of the shipped seed data: Binance's published reserve wallet. */
const FIRST_QUESTION = '/api/v1/oracle/address/ETH/0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

const counted = (units: number): string => units.toLocaleString('en-US');

/** Says which plan the operator's own account has, and how to remove its quotas. */
function planLine({ name, quotas, creditsPerMonth }: Plan): string {
  const plan = `Account '${LOCAL_ACCOUNT}' has the plan ${name}`;
  const credits = `${counted(creditsPerMonth)} credits a month`;
  if (quotas.intel === null && quotas.oracle === null) return `${plan}: no quotas, ${credits}.\n`;
  const limits = Object.entries(quotas).flatMap(([meter, units]) =>
    units === null ? [] : [`${counted(units)} ${meter} units`],
  );
  return `${plan}: ${[...limits, credits].join(', ')}. The plan without quotas: assay plan set ${LOCAL_ACCOUNT} SELF_HOSTED\n`;
}

/** How a person gets the pages of the dashboard that show the state of the installation. */
const OPERATOR_TEXT =
  'The dashboard shows the state of this installation to its operators. To become one (the password is read from standard input):\n\n' +
  `  assay accounts add-person ${LOCAL_ACCOUNT} --email you@example.org\n  assay accounts operator ${LOCAL_ACCOUNT} --on\n\n`;

/** Text for the first key: the key itself on a terminal; otherwise the file in which it was stored, because output is kept in logs. */
function keyText(key: string, url: string, { isTerminal, dataDir }: Shown): string {
  const curl = (header: string): string =>
    `A first request:\n\n  curl -H ${header} ${url}${FIRST_QUESTION}\n\n`;
  if (isTerminal)
    return `\nThis is your API key. It is shown only once:\n\n  ${key}\n\n${curl(`'Authorization: Bearer ${key}'`)}`;
  const path = join(dataDir, FIRST_KEY_FILE);
  try {
    writeTextAtomically(path, `${key}\n`);
  } catch (error) {
    return `\nThe first API key could not be stored: ${messageOf(error)}. Create another one: assay keys create --name first\n`;
  }
  return (
    `\nThe first API key is in ${path}\n` +
    `Only the owner of the file can read it. Move it to a safe place, and delete the file.\n\n` +
    curl(`"Authorization: Bearer $(cat '${path}')"`)
  );
}

interface Shown {
  /** Whether the output goes to a terminal, and not to a file or a log. */
  readonly isTerminal: boolean;
  readonly dataDir: string;
}

/** Written in one call, so that a script which waits for the first line gets the key as well. */
function greeting({ url, backend, firstKey, localPlan }: Served, shown: Shown): string {
  const answers = `Assay answers on ${url} (${backend}).\n`;
  const plan = localPlan === null ? '' : planLine(localPlan);
  return `${answers}${plan}${firstKey === null ? '' : keyText(firstKey, url, shown) + OPERATOR_TEXT}`;
}

/** Adds `assay serve`. */
export function addServeCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('serve')
    .description('serve the API (settings: docs/reference/configuration.md)')
    .option(
      '--role <roles>',
      `roles of this node, comma-separated: ${ROLES.join(', ')} (default: ASSAY_ROLES); a node without all of them needs a Redis`,
    )
    .action(async (options: { readonly role?: string }) => {
      const roles = options.role === undefined ? undefined : readRoles(options.role, '--role');
      const opened = services();
      await opened.holdFolders();
      await opened.prepare(terminal.signal);
      terminal.signal.throwIfAborted();
      const served = await opened.serve(roles);
      const isTerminal = terminal.out.isTTY === true;
      terminal.out.write(greeting(served, { isTerminal, dataDir: opened.dataDir }));
      await new Promise<void>((resolve) => {
        if (terminal.signal.aborted) resolve();
        else terminal.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await served.stop();
    });
}
