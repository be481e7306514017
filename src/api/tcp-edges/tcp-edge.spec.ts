import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Decision, expectRepetitionsToRecordNothing, given as givenEvents } from '../../../test/support/given.js';
import {
  create,
  evolve,
  type ListedHostport,
  refusePastExpiry,
  remove,
  type TcpEdge,
  type TcpEdgeEvent,
  type TcpEdgeFields,
  update,
} from './tcp-edge.js';

const given = (...events: TcpEdgeEvent[]) => givenEvents(evolve, ...events);

const hostport = (text: string, exclusive = false): ListedHostport => ({
  text,
  canonical: text.toLowerCase(),
  exclusive,
});

const backend = { enabled: true, backend_id: 'bkdtg_1' };
const edge = {
  description: 'd',
  metadata: 'm',
  hostports: [hostport('A:1'), hostport('b:2', true)],
  backend,
  ip_restriction: null,
  traffic_policy: { enabled: true, value: '{}' },
} satisfies TcpEdge;
const created: TcpEdgeEvent = { type: 'tcp_edge_created.v1', data: edge };
const updated = (data: TcpEdgeFields): TcpEdgeEvent => ({ type: 'tcp_edge_updated.v1', data });
const deleted: TcpEdgeEvent = { type: 'tcp_edge_deleted.v1', data: {} };

describe('create', () => {
  it('records every field, also the absent ones', () => {
    const data = {
      description: 'x',
      metadata: '',
      hostports: [],
      backend: null,
      ip_restriction: null,
      traffic_policy: null,
    };
    expect(given().when(() => create({ description: 'x' }))).toEqual([{ type: 'tcp_edge_created.v1', data }]);
  });
});

describe('update', () => {
  it('records only the fields that differ', () => {
    const changes = { description: 'new', metadata: 'm', backend: { backend_id: 'bkdtg_1', enabled: true } };
    expect(given(created).when((edge) => update(edge, changes))).toEqual([updated({ description: 'new' })]);
  });

  it('replaces a module as a whole, and records a removed module as null', () => {
    const off = { enabled: false, backend_id: 'bkdtg_1' };
    expect(given(created).when((edge) => update(edge, { backend: off }))).toEqual([updated({ backend: off })]);
    expect(given(created).when((edge) => update(edge, { backend: null }))).toEqual([updated({ backend: null })]);
    expect(given(created).when((edge) => update(edge, { ip_restriction: null }))).toEqual([]);
  });

  it('records another order or spelling of hostports as a change', () => {
    const [first, second] = [hostport('A:1'), hostport('b:2', true)];
    expect(given(created).when((edge) => update(edge, { hostports: [first, second] }))).toEqual([]);
    expect(given(created).when((edge) => update(edge, { hostports: [second, first] }))).toEqual([
      updated({ hostports: [second, first] }),
    ]);
    expect(given(created).when((edge) => update(edge, { hostports: [] }))).toEqual([updated({ hostports: [] })]);
  });

  it('keeps the claim of a hostport that stays listed in any spelling, and records the claim of a new one', () => {
    const wanted = [hostport('a:1', true), hostport('B:2', false), hostport('c:3', true)];
    expect(given(created).when((edge) => update(edge, { hostports: wanted }))).toEqual([
      updated({ hostports: [hostport('a:1', false), hostport('B:2', true), hostport('c:3', true)] }),
    ]);
  });
});

describe('remove', () => {
  it('records the deletion', () => {
    expect(given(created).when(remove)).toEqual([deleted]);
    expect(given(created, deleted).state).toBeUndefined();
  });
});

it('update and remove refuse an unknown or deleted edge with edge_not_found', () => {
  for (const history of [[], [created, deleted]]) {
    expect(given(...history).when((edge) => update(edge, { description: 'x' }))).toMatch(/^edge_not_found: /);
    expect(given(...history).when(remove)).toMatch(/^edge_not_found: /);
  }
});

describe('for every history', () => {
  const hostports = fc.array(fc.constantFrom('a:1', 'A:1', 'b:2', 'c:3').map((text) => hostport(text, false)));
  const enabled = fc.boolean();
  const id = fc.constantFrom('x', 'y');
  const changes = fc.record(
    {
      description: fc.constantFrom('', 'd', 'e'),
      metadata: fc.constantFrom('', 'm'),
      hostports,
      backend: fc.option(fc.record({ enabled, backend_id: id })),
      ip_restriction: fc.option(fc.record({ enabled, ip_policy_ids: fc.array(id, { maxLength: 3 }) })),
      traffic_policy: fc.option(fc.record({ enabled, value: id })),
    },
    { requiredKeys: [] },
  );
  const decisions = fc.oneof(
    // Each create has a new id, so it never meets a state.
    changes.map(
      (c): Decision<TcpEdge, TcpEdgeEvent> =>
        (edge) =>
          edge === undefined ? create(c) : [],
    ),
    changes.map(
      (c): Decision<TcpEdge, TcpEdgeEvent> =>
        (edge) =>
          update(edge, c),
    ),
    fc.constant<Decision<TcpEdge, TcpEdgeEvent>>(remove),
  );

  it('a repeated command records no event', () => {
    expectRepetitionsToRecordNothing(evolve, decisions);
  });

  it('an update sets the wanted values, and its event holds only changed fields', () => {
    fc.assert(
      fc.property(changes, changes, (first, second) => {
        const history = create(first);
        const before = given(...history).state;
        const events = update(before, second);
        expect(given(...history, ...events).state).toEqual({ ...before, ...second });
        for (const { data } of events) {
          for (const [name, value] of Object.entries(data)) expect(value).not.toEqual(before?.[name as keyof TcpEdge]);
        }
      }),
    );
  });

  it('the events are the same after a round trip through JSON', () => {
    fc.assert(
      fc.property(changes, (fields) => {
        const events = create(fields);
        expect(JSON.parse(JSON.stringify(events))).toEqual(events);
      }),
    );
  });
});

describe('the expiry of an edge', () => {
  const at = '2030-01-31T00:00:00.000Z';

  it('is in the event as text and in the state as a time, and other changes keep it', () => {
    const events = [created, updated({ expires_at: at }), updated({ description: 'x' })];
    const state = events.reduce<TcpEdge | undefined>(evolve, undefined);
    expect(state).toMatchObject({ description: 'x', expires_at: new Date(at) });
    expect(evolve(state, updated({ expires_at: null }))).toMatchObject({ expires_at: null });
  });

  it('is no event if it stays what it is', () => {
    expect(given(created, updated({ expires_at: at })).when((state) => update(state, { expires_at: at }))).toEqual([]);
    expect(given(created).when((state) => update(state, { expires_at: null }))).toEqual([]);
  });

  it('is refused in the past, unless it is that of the edge already', () => {
    const now = new Date('2031-01-01T00:00:00Z');
    expect(() => refusePastExpiry({ expires_at: at }, now)).toThrow(/in the past/);
    expect(() => refusePastExpiry({ expires_at: at }, now, { ...edge, expires_at: new Date(at) })).not.toThrow();
    expect(() => refusePastExpiry({ expires_at: null }, now)).not.toThrow();
  });
});
