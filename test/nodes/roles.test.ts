/** The roles of a node as an operator writes them. */
import { expect, it } from 'vitest';
import { ROLES, readRoles } from '../../src/nodes/roles.ts';

it('are each known, in any order, and counted once', () => {
  expect(readRoles('delivery, api', 'roles')).toEqual(['api', 'delivery']);
  expect(readRoles(` ${ROLES.join(' , ')},api `, 'roles')).toEqual(ROLES);
});

it('are refused by the name of their field if one is unknown or missing', () => {
  for (const text of ['', 'api,', 'api,workers', 'API', 'api worker', 'none'])
    expect(() => readRoles(text, 'ASSAY_ROLES'), text).toThrow(
      `ASSAY_ROLES: must be a comma-separated list of api, worker, listener, delivery (got '${text}').`,
    );
  expect(() => readRoles('x'.repeat(300), 'ASSAY_ROLES')).toThrow(`(got '${'x'.repeat(100)}')`);
});
