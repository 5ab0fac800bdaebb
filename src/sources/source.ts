/**
 * The descriptor of a source: everything that the program knows about a publisher, in one object. index.ts lists the descriptors;
 * ids, commands, freshness, coverage and tables are derived from that list. A descriptor loads its reader only when a file is
 * read, so that threads that need no reader do not load the parsers.
 */
import type { NamedReader } from './named-party.ts';
import type { OwnMapping } from './own/columns.ts';
import type { FileListing, PublisherFile } from './publisher.ts';
import type { SourceReader } from './records.ts';
import type { RegisterReader } from './registers/registration.ts';

/** A sanctions list that a source publishes. */
export interface SanctionsListRow<List extends string = string, Group extends string = string> {
  /** Id in answers, stores and file names (`OFAC_SDN`). */
  readonly id: List;
  /** Jurisdiction of the list (`US`). Lists of one group are one voice, and the group is fresh if all of them are. */
  readonly group: Group;
  /** Short name of the authority, for `SanctionsEntry.authority`. */
  readonly authority: string;
  /** Whether a clean verdict requires the list: it is then reported as missing until it has been imported. */
  readonly required: boolean;
  /** Page at which people can read an entry; `{id}` is replaced by the id of the entry. */
  readonly partyUrl: string;
  /**
   * Entries that freeze assets. `all` and `stated`: what an entry states decides; if it states nothing, `all` means that it
   * freezes, and `stated` that it is unknown. `none`: no entry freezes, whatever it states.
   */
  readonly assetFreeze: 'all' | 'none' | 'stated';
  /**
   * Days within which the publisher has always published again, generously. A publication that is older is reported, because a mirror or
   * a cache may serve an old file. Absent: not known.
   */
  readonly publishedAgainDays?: number;
}

/** Stores that the records of a source are imported into. */
export type Feed = 'labels' | 'names';

/**
 * How the files of one import are read and counted as published: each by itself, all together, or in the groups that the function
 * returns.
 */
export type Grouping = 'each' | 'together' | ((files: readonly string[]) => Promise<string[][]>);

/** Facts that a reader needs in addition to its files. */
export interface ReadContext {
  /** Ids of all sanctions lists, for readers of files that name lists. */
  readonly lists: readonly string[];
  /** `own`: columns of the file and the fields that they contain. */
  readonly mapping: OwnMapping | undefined;
}

/** The facts that every descriptor states; the optional facts have defaults. */
export interface FactsDefinition<Id extends string> {
  /** Argument of `assay import` and `assay sync`. */
  readonly id: Id;
  /** Name of the data set, for people. */
  readonly name: string;
  /** Full name of the publishing body. */
  readonly publisher: string;
  /** Web page for people. Default: null, no page. */
  readonly homepage?: string | null;
  /** Licence or terms of the data, in a few words. Default: null, it is the operator's or varies. */
  readonly licence?: string | null;
  /** Files at their official addresses. Default: none; the source cannot be downloaded, only imported. */
  readonly files?: readonly PublisherFile[];
  /** The list of a bucket that names further files. Default: null, `files` are all. */
  readonly listing?: FileListing | null;
  /** The account that a download needs, such as `a Kaggle account`. Default: null, none is needed. */
  readonly account?: string | null;
  /**
   * Why the licence restricts the use of the data, if an operator must accept it before each import (`--accept-licence`). Default:
   * null, the licence allows every use of Assay.
   */
  readonly restriction?: string | null;
}

/** @template List - Ids of the source's own lists: its reader can yield parties of no other list. */
export interface SourceDefinition<Id extends string, List extends string, Group extends string>
  extends FactsDefinition<Id> {
  /** Sanctions lists of the files. Default: none; the files attribute addresses to actors. */
  readonly lists?: readonly SanctionsListRow<List, Group>[];
  /** Sources with lists: decides which label comes first if class, confidence and date are equal; higher first. */
  readonly rank?: number;
  /** Default: each file by itself. */
  readonly grouping?: Grouping;
  /**
   * Whether `assay sync` without arguments, and a running server, download it. Default: true. Otherwise only `assay labels sync --all`
   * and a call that names it do.
   */
  readonly byDefault?: boolean;
  readonly feeds: readonly Feed[];
  /** Loads the reader. */
  readonly read: (
    context: ReadContext,
  ) => Promise<SourceReader<[NoInfer<List>] extends [never] ? string : NoInfer<List>>>;
}

/** A source of labels, with or without sanctions lists. */
export interface Source<
  Id extends string = string,
  List extends string = string,
  Group extends string = string,
> extends Required<SourceDefinition<Id, List, Group>> {}

const NO_FACTS = {
  homepage: null,
  licence: null,
  files: [],
  listing: null,
  account: null,
  restriction: null,
} as const;

/** Rank of a source with lists that states none: after the lists that ship, before every other source. */
const RANK = 95;

/**
 * Describes a source.
 *
 * @throws Error if a source with sanctions lists does not feed labels: its wallets would not be screened.
 */
export function source<
  const Id extends string,
  const List extends string = never,
  const Group extends string = never,
>(definition: SourceDefinition<Id, List, Group>): Source<Id, List, Group> {
  const described = {
    ...NO_FACTS,
    lists: [],
    rank: RANK,
    grouping: 'each' as const,
    byDefault: true,
    ...definition,
  };
  if (described.lists.length > 0 && !described.feeds.includes('labels'))
    throw new Error(`The source ${described.id} has sanctions lists, so it must feed labels.`);
  return described;
}

export interface NameSourceDefinition<Id extends string> extends FactsDefinition<Id> {
  /**
   * Loads the reader.
   *
   * @param context.dataset - Name of the data set, which decides the list type of some files.
   */
  readonly read: (context: { readonly dataset: string }) => Promise<NamedReader>;
}

/** A source of names only: politically exposed persons, adverse media, own lists. */
export interface NameSource<Id extends string = string> extends Required<NameSourceDefinition<Id>> {}

/** Describes a source of names. */
export const nameSource = <const Id extends string>(
  definition: NameSourceDefinition<Id>,
): NameSource<Id> => ({
  ...NO_FACTS,
  ...definition,
});

export interface RegisterSourceDefinition<Id extends string> extends FactsDefinition<Id> {
  /** Whether a sync without arguments downloads it. Default: false; `assay sync registers` downloads it. */
  readonly everySync?: boolean;
  /**
   * Loads the reader.
   *
   * @param context.whole - The files contain the whole of their registers.
   */
  readonly read: (context: { readonly whole: boolean }) => Promise<RegisterReader>;
}

/** A source of regulatory registers. */
export interface RegisterSource<Id extends string = string> extends Required<RegisterSourceDefinition<Id>> {}

/** Describes a source of registers. */
export const registerSource = <const Id extends string>(
  definition: RegisterSourceDefinition<Id>,
): RegisterSource<Id> => ({ ...NO_FACTS, everySync: false, ...definition });
