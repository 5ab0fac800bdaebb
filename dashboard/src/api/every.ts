/** Lists of the values of the API. A value that the API has got and a list has not would be missing from a choice or a filter. */

/**
 * Returns a list of all members of a union, in the order in which they are shown. A list without one of them does not compile.
 *
 * @example const ROLES = everyOf<Role>()(['owner', 'analyst', 'auditor']);
 */
export const everyOf =
  <Member extends string>() =>
  <const List extends readonly Member[]>(
    list: List & ([Member] extends [List[number]] ? unknown : { missing: Exclude<Member, List[number]> }),
  ): List =>
    list;
