/** Live stores that count the records which are read, for tests of work that must not grow with a store. */
import { type OpenStore, openLiveStore } from '../../src/state/live-store.ts';

export interface CountedStore {
  readonly openStore: OpenStore;
  /** Returns the number of records and keys that were read since the last call. */
  readonly reads: () => number;
}

/** Creates a function that opens stores whose reads are counted, of all their databases. */
export function countedStore(): CountedStore {
  let read = 0;
  const openStore: OpenStore = (...of) => {
    const live = openLiveStore(...of);
    const openDB = live.root.openDB.bind(live.root);
    live.root.openDB = ((options: never) => {
      const database = openDB(options);
      function* counted<Row>(rows: Iterable<Row>): Generator<Row> {
        for (const row of rows) {
          read++;
          yield row;
        }
      }
      return Object.assign(Object.create(database), {
        get(key: never) {
          read++;
          return database.get(key);
        },
        getKeys: (range: never) => counted(database.getKeys(range)),
        getRange: (range: never) => counted(database.getRange(range)),
        // Bound to the database itself, which has private fields.
        ...Object.fromEntries(
          (['putSync', 'removeSync', 'getKeysCount'] as const).map((name) => [
            name,
            (...values: never[]) =>
              (database[name] as (...values: never[]) => unknown).apply(database, values),
          ]),
        ),
      });
    }) as never;
    return live;
  };
  return {
    openStore,
    reads() {
      const count = read;
      read = 0;
      return count;
    },
  };
}
