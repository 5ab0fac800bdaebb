/** Values that fields of the API allow, for choices and filters of pages and for the check of links. The types of the API keep the lists complete. */
import type { DataOf, Schemas } from './client.ts';
import { everyOf } from './every.ts';

export const TAINT_METHODS = everyOf<NonNullable<Schemas['ScreeningBody']['taint']>>()([
  'poison',
  'haircut',
  'fifo',
  'lifo',
  'tiho',
  'all',
]);
/** Bounds of `maxHops` of a screening (the OpenAPI document). */
export const SCREENING_HOPS = [1, 2, 3, 4, 5] as const;

/** Bounds of a trace (the OpenAPI document). */
export const TRACE_HOPS = ['1', '2', '3'] as const;
export const TRACE_DEPTHS = ['1', '2', '3', '4', '5', '6', '7'] as const;
export const TRACE_DIRECTIONS = everyOf<NonNullable<Schemas['TraceBody']['direction']>>()([
  'both',
  'in',
  'out',
]);

export const ALERT_STATUSES = everyOf<Schemas['Alert']['status']>()([
  'NEW',
  'INVESTIGATING',
  'RESOLVED',
  'DISMISSED',
]);
export const SEVERITIES = everyOf<Schemas['Alert']['severity']>()(['CRITICAL', 'HIGH', 'MEDIUM', 'LOW']);
export const DELIVERY_STATUSES = everyOf<Schemas['Delivery']['status']>()([
  'PENDING',
  'DELIVERED',
  'FAILED',
  'CANCELLED',
]);

export const CASE_STATUSES = everyOf<Schemas['Case']['status']>()([
  'OPEN',
  'IN_REVIEW',
  'ESCALATED',
  'CLOSED',
]);
/** The filter of cases that are not closed. */
export const UNFINISHED = CASE_STATUSES.filter((status) => status !== 'CLOSED').join(',');
export const PRIORITIES = everyOf<Schemas['Case']['priority']>()(['LOW', 'MEDIUM', 'HIGH', 'URGENT']);

export const REPORT_STATES = everyOf<DataOf<'/label-reports', 'get'>['reports'][number]['state']>()([
  'OPEN',
  'ACCEPTED',
  'REJECTED',
]);
