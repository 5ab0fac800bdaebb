/**
 * GET /exchange-status: finds the exchange, its registrations and their history, and the registers that were read. Responses come from
 * memory; a new import is loaded between responses.
 */

import { setImmediate as turn } from 'node:timers/promises';
import { type Clock, isoTime } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { loadExchanges, loadRegisterFacts } from './catalogue.ts';
import { buildDirectory, type Directory } from './directory.ts';
import { type EntityDesignation, type ExchangeStatus, statusOf } from './exchange-answer.ts';
import { type FoundExchange, findExchange, withNamesakes } from './exchange-search.ts';
import { REGISTER_LIMITS } from './limits.ts';
import { parseScope, type Scope } from './regions.ts';
import { loadShippedRegisters } from './shipped.ts';
import type { RegisterStore } from './store.ts';

/** Names the sanctions lists that are missing or too old. */
export interface StaleLists {
  readonly message: string;
}

/**
 * Returns the status of an exchange.
 *
 * @param stale - the same object while the lists are unchanged; null if all are fresh
 * @throws NOT_FOUND with the nearest names
 * @throws INVALID_REQUEST for an invalid name or jurisdiction
 */
export type ExchangeStatusQuery = (
  name: string,
  jurisdiction: string | undefined,
  stale?: StaleLists | null,
) => ExchangeStatus;

export interface ExchangeStatuses {
  readonly answer: ExchangeStatusQuery;
  /** Returns the JSON of `answer` as bytes, cached for further queries that find the same by the same name. */
  readonly answerBytes: (...query: Parameters<ExchangeStatusQuery>) => Buffer;
  /**
   * Loads new imports in slices between responses. If an import cannot be read, the old state remains and the error is logged. If there is
   * no old state, the error of the store is thrown.
   */
  refresh(): Promise<void>;
  /**
   * Like `refresh`, but if nothing was imported and nothing was queried, it leaves what ships to the first query or `refresh`. It throws the
   * error of an import once.
   */
  refreshImported(): Promise<void>;
}

/** A query as understood, on one day. */
interface Search {
  readonly scope: Scope | null;
  readonly found: FoundExchange;
  /** ISO date. */
  readonly today: string;
}

/**
 * Returns what decides the answer to a search. It is not the text of the query: people write a name in many ways, and an answer that is
 * cached for each of them is never used again.
 */
function keyOf({ scope, found: { subject, matched, namesakes }, today }: Search): string {
  const subjects = [subject, ...namesakes.map((one) => one.subject)].join();
  return `${today} ${scope?.code ?? ''} ${subjects} ${matched.by} ${matched.exact} ${matched.similarity} ${matched.value}`;
}

const NO_DESIGNATIONS: readonly EntityDesignation[] = [];

/** The stamp of a store without a catalogue. */
const NOTHING_IMPORTED = '';

/** Opens the directory at the first query or refresh. */
export function createExchangeStatuses(deps: {
  readonly store: RegisterStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** Returns the designations of entities in the current snapshot; the same array while they are unchanged. Omitted if none is known. */
  readonly designations?: () => readonly EntityDesignation[];
}): ExchangeStatuses {
  const { store, log, clock } = deps;
  const dayNow = (): string => isoTime(clock.now()).slice(0, 10);
  const designationsNow = deps.designations ?? (() => NO_DESIGNATIONS);
  let cachedFor: readonly EntityDesignation[] = NO_DESIGNATIONS;
  let cachedStale: StaleLists | null = null;
  let shipped: Parameters<typeof buildDirectory>[0] | null = null;
  let current: Directory | null = null;
  let stamp = '';
  let refreshing = false;
  /** The stamp of an import that could not be read, for which there is no old state. */
  let refused = NOTHING_IMPORTED;
  let cache = new Map<string, Buffer>();

  function steps(): Generator<void, Directory> {
    if (shipped === null) {
      const registers = loadRegisterFacts();
      shipped = { registers, exchanges: loadExchanges(registers), shipped: loadShippedRegisters(registers) };
    }
    return buildDirectory(shipped, store);
  }

  function publish(directory: Directory, from: string): Directory {
    current = directory;
    stamp = from;
    cache = new Map();
    return directory;
  }

  function now(): Directory {
    if (current !== null) return current;
    const from = store.stamp();
    const building = steps();
    for (let step = building.next(); ; step = building.next()) {
      if (step.done === true) return publish(step.value, from);
    }
  }

  const search = (directory: Directory, name: string, jurisdiction: string | undefined): Search => ({
    scope: jurisdiction === undefined ? null : parseScope(jurisdiction),
    found: findExchange(directory, name),
    today: dayNow(),
  });

  const statusOfSearch = (
    directory: Directory,
    { scope, found, today }: Search,
    stale: StaleLists | null,
  ): ExchangeStatus =>
    statusOf({
      directory,
      subject: withNamesakes(directory, found),
      matched: found.matched,
      scope,
      registers: shipped?.registers ?? [],
      today,
      designations: designationsNow(),
      reasons:
        stale === null ? [] : [{ code: 'STALE_OR_MISSING_DATA', severity: 'MEDIUM', message: stale.message }],
    });

  async function refresh(): Promise<void> {
    if (refreshing) return;
    refreshing = true;
    let from = stamp;
    try {
      from = store.stamp();
      if (current !== null && from === stamp) return;
      const building = steps();
      for (let step = building.next(); ; step = building.next()) {
        if (step.done === true) {
          publish(step.value, from);
          return;
        }
        await turn();
      }
    } catch (error) {
      if (current === null) throw error;
      // Retried only after the next import: the broken data does not change before that.
      stamp = from;
      log.error({ reason: messageOf(error) }, 'registers could not be read, using the previous state');
    } finally {
      refreshing = false;
    }
  }

  return {
    answer(name, jurisdiction, stale = null) {
      const directory = now();
      return statusOfSearch(directory, search(directory, name, jurisdiction), stale);
    },
    answerBytes(name, jurisdiction, stale = null) {
      const directory = now();
      const designations = designationsNow();
      if (designations !== cachedFor || stale !== cachedStale) cache = new Map();
      cachedFor = designations;
      cachedStale = stale;
      const searched = search(directory, name, jurisdiction);
      const key = keyOf(searched);
      const known = cache.get(key);
      if (known !== undefined) return known;
      const bytes = Buffer.from(JSON.stringify(statusOfSearch(directory, searched, stale)));
      if (cache.size >= REGISTER_LIMITS.exchangeAnswersKept) cache.clear();
      if (directory === current) cache.set(key, bytes);
      return bytes;
    },
    refresh,
    async refreshImported() {
      const from = store.stamp();
      if (current === null && (from === NOTHING_IMPORTED || from === refused)) return;
      try {
        await refresh();
      } catch (error) {
        refused = from;
        throw error;
      }
    },
  };
}
