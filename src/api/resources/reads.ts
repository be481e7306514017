import { Injectable } from '@nestjs/common';
import { AuditReads, type Connections } from '../../database/index.js';
import { AsOfQueries, type DomainEvent, type Entity, LogPositions, LogReader, Past } from '../../event-log/index.js';
import type { Caller } from '../../kernel/caller.js';
import { eventLoop } from '../../kernel/event-loop.js';
import { isId } from '../../kernel/ids.js';
import { malformed } from '../../kernel/problem.js';
import { Answer } from '../http/answer.js';
import { lastOf, pageOf, readPageRequest, uriWith } from '../http/pages.js';
import { etagOf } from '../http/preconditions.js';
import type { ReadRequest } from '../http/request-context.js';
import { mayReadPrivate, readsEverything, refuseUnlessMayReadHistory } from './access-rules.js';
import { EntityQueries, type Selection, tableOf, type WantedPage } from './entity-queries.js';
import { historyPage } from './history.js';
import type { HistoryResource } from './history.resource.js';
import { Lists } from './lists.js';
import { OF_OWNER, type ResourceDescriptor, type ScanFilter } from './resource-descriptor.js';

/** A page with a filter that has no index reads this many rows at most: a rare one never reads a whole account. */
const MAX_SCANNED = 10_000;
/** A row can have 80 KB. */
const READ_AT_ONCE = 200;
const MATCHED_AT_ONCE = 20;

interface Scan<State> {
  readonly filter: ScanFilter<State>;
  readonly value: string;
}

/** The answer to a GET of one entity. */
export class Found<State> extends Answer {
  constructor(
    private readonly resource: ResourceDescriptor<State>,
    readonly entity: Entity<State>,
    /** Fields of the answer that no event says. */
    private readonly live?: (baseUrl: string) => object,
  ) {
    super();
  }

  get headers() {
    return { etag: etagOf(this.entity, this.live?.('')) };
  }

  render(baseUrl: string): object {
    return { ...this.resource.toResource(this.entity, baseUrl), ...this.live?.(baseUrl) };
  }

  with(live: (baseUrl: string) => object): Found<State> {
    return new Found(this.resource, this.entity, live);
  }
}

/** Adds to each item of a page what the caller asks for by a query parameter, which further pages repeat. */
export interface Inclusion<State> {
  readonly query: Readonly<Record<string, string>>;
  fieldsOf(entity: Entity<State>): Promise<object>;
}

/** The GETs of every resource: an entity, a page of entities, or a history; now, or `as_of` a position or time. */
@Injectable()
export class Reads {
  constructor(
    private readonly entities: EntityQueries,
    private readonly positions: LogPositions,
    private readonly auditReads: AuditReads,
    private readonly lists: Lists,
  ) {}

  /** Throws the resource's notFound if the entity does not exist or is not visible to the caller. */
  async get<State extends object, Event extends DomainEvent>(
    resource: ResourceDescriptor<State, Event>,
    request: ReadRequest,
    id: string,
  ): Promise<Found<State>> {
    const { caller, query } = request;
    const asOf = lastOf(query.as_of);
    const entity =
      asOf === undefined
        ? await this.entities.find(resource, { accountId: caller.accountId, id })
        : await this.asOf(request, asOf, (past) => foundIn(past, resource, id));
    if (entity === undefined || !isVisible(resource, caller, entity)) throw resource.notFound();
    return new Found(resource, entity);
  }

  async list<State extends object, Event extends DomainEvent>(
    resource: ResourceDescriptor<State, Event>,
    request: ReadRequest,
    inclusion?: Inclusion<State>,
  ): Promise<Record<string, unknown>> {
    const { caller, baseUrl, query } = request;
    const page = readPageRequest(query, resource.idPrefix);
    const selections = narrowed(resource, request, readSelections(resource.filters, query));
    const scans = readSelections(resource.scans, query);
    const wanted = { accountId: caller.accountId, page, ownerId: ownerFilterOf(resource, caller), selections };
    const selected = Object.fromEntries([...selections, ...scans].map(({ filter, value }) => [filter.name, value]));
    const [listKey, uri] = [resource.listKey ?? resource.path, `${baseUrl}/${resource.path}`];
    const included = new Map<string, object>();
    const include = async (found: readonly Entity<State>[]) => {
      const add = async (entity: Entity<State>) => included.set(entity.id, (await inclusion?.fieldsOf(entity)) ?? {});
      if (inclusion !== undefined) await Promise.all(found.map(add));
      return found;
    };
    const toItem = (entity: Entity<State>) => ({ ...resource.toResource(entity, baseUrl), ...included.get(entity.id) });
    const answer = (found: readonly Entity<State>[], asOf: { readonly as_of?: number } = {}) =>
      pageOf(
        listKey,
        uri,
        page,
        found,
        toItem,
        { ...selected, ...inclusion?.query, ...asOf },
        resource.largePages?.maxBytes,
      );
    if (!isAsOf(request)) {
      const read = async () => {
        const { found, readTo } =
          scans.length === 0
            ? { found: await this.entities.list(resource, wanted) }
            : await this.scan(resource, wanted, scans);
        return { found: await include(found), readTo };
      };
      return this.lists.page(request, read, ({ found, readTo }) => {
        if (readTo === undefined) return answer(found);
        const next = { before_id: readTo, limit: page.limit, ...selected, ...inclusion?.query };
        return { ...answer(found), next_page_uri: uriWith(uri, next) };
      });
    }
    return this.fromLog(request, async (connections, position) =>
      // All pages show the same position, even if `as_of` is a time.
      answer(await include(await listAt(connections, resource, caller, wanted, position, scans)), { as_of: position }),
    );
  }

  /** `readTo`: the id before which the next page begins, if this one has read as much as it may. */
  private async scan<State extends object>(
    resource: ResourceDescriptor<State>,
    wanted: WantedPage<State>,
    scans: readonly Scan<State>[],
  ): Promise<{ readonly found: readonly Entity<State>[]; readonly readTo?: string }> {
    const found: Entity<State>[] = [];
    let { beforeId } = wanted.page;
    for (let count = 0; count < MAX_SCANNED; count += READ_AT_ONCE) {
      const page = { beforeId, limit: READ_AT_ONCE - 1 };
      const rows = await this.entities.list(resource, { ...wanted, page });
      for (let n = 0; n < rows.length; n += MATCHED_AT_ONCE) {
        const some = rows.slice(n, n + MATCHED_AT_ONCE);
        const isMatch = (row: Entity<State>) => scans.every(({ filter, value }) => filter.matches(row, value));
        found.push(...(await eventLoop.run([wanted.accountId], () => some.filter(isMatch))));
        if (found.length > wanted.page.limit) return { found };
      }
      if (rows.length < READ_AT_ONCE) return { found };
      beforeId = rows.at(-1)?.id ?? null;
    }
    return { found, readTo: beforeId ?? '' };
  }

  /** Deleted entities have a history too. See refuseUnlessMayReadHistory for the callers who may read it. */
  async history<State extends object, Event extends DomainEvent>(
    resource: ResourceDescriptor<State, Event>,
    request: ReadRequest,
    id: string,
  ): Promise<HistoryResource> {
    const { idPrefix, path } = resource;
    const { caller, baseUrl } = request;
    if (!isId(id, idPrefix)) throw resource.notFound();
    const { page, last } = await this.fromLog(request, (connections, upTo) => {
      const events = new LogReader(connections).ofStreams(caller.accountId, [id], upTo);
      return historyPage(resource, events, request, `${baseUrl}/${path}/${id}/events`);
    });
    if (last === undefined || !mayKnow(resource, caller, last)) throw resource.notFound();
    refuseUnlessMayReadHistory(caller, last);
    return page;
  }

  /** Answers a question about the past, which the log of the account alone answers. */
  asOf<T>(
    { caller: { accountId }, signal }: ReadRequest,
    text: string,
    answer: (past: Past) => Promise<T>,
  ): Promise<T> {
    return this.auditReads.run({ accountId, signal }, async (connections) =>
      answer(new Past(connections, accountId, await this.positions.momentOf(accountId, 'as_of', text))),
    );
  }

  /** Reads the log up to the position that the request names, by default all of it. */
  private fromLog<T>(
    { caller: { accountId }, query, signal }: ReadRequest,
    read: (connections: Connections, position: number) => Promise<T>,
  ): Promise<T> {
    const asOf = lastOf(query.as_of);
    return this.auditReads.run({ accountId, signal }, async (connections) => {
      // This runs on the service's pool, since it may lock the head.
      const position = asOf === undefined ? undefined : await this.positions.positionOf(accountId, 'as_of', asOf);
      return read(connections, position ?? Number.MAX_SAFE_INTEGER);
    });
  }
}

export const isAsOf = ({ query }: ReadRequest): boolean => lastOf(query.as_of) !== undefined;

/** Throws the resource's notFound for an entity that did not exist then. */
export async function foundIn<State extends object, Event extends DomainEvent>(
  past: Past,
  { model, idPrefix, notFound }: ResourceDescriptor<State, Event>,
  id: string,
): Promise<Entity<State>> {
  const entity = isId(id, idPrefix) ? await past.entity(model, id) : undefined;
  if (entity === undefined) throw notFound();
  return entity;
}

function listAt<State extends object>(
  connections: Connections,
  resource: ResourceDescriptor<State>,
  caller: Caller,
  { accountId, page: { beforeId, limit }, ownerId, selections }: WantedPage<State>,
  position: number,
  scans: readonly Scan<State>[],
): Promise<Entity<State>[]> {
  const { model, idPrefix } = resource;
  const own = ownerId === undefined ? undefined : { filter: OF_OWNER, value: ownerId };
  const fixed = own ?? selections.find(({ filter }) => filter.isFixed);
  const narrowing = fixed && { ...fixed, table: tableOf(resource).name };
  const page = { accountId, idPrefix, beforeId, max: limit + 1, position, narrowing };
  const isSelected = (entity: Entity<State>) =>
    [...selections, ...scans].every(({ filter, value }) => filter.matches(entity, value));
  return new AsOfQueries(connections).list(
    model,
    page,
    (entity) => isVisible(resource, caller, entity) && isSelected(entity),
  );
}

function readSelections<Filter extends ScanFilter<never>>(
  filters: readonly Filter[] = [],
  query: Readonly<Record<string, unknown>>,
): readonly { readonly filter: Filter; readonly value: string }[] {
  return filters.flatMap((filter) => {
    const text = lastOf(query[filter.name]);
    return text === undefined ? [] : [{ filter, value: filter.read(text) }];
  });
}

/** Refuses a filter of now with `as_of`, and adds the owner for a member: see ListFilter.isOfNow. */
function narrowed<State>(
  { filters = [] }: ResourceDescriptor<State>,
  request: ReadRequest,
  selections: readonly Selection<State>[],
): readonly Selection<State>[] {
  const ofNow = selections.find(({ filter }) => filter.isOfNow);
  if (ofNow === undefined) return selections;
  if (isAsOf(request)) throw malformed(`${ofNow.filter.name} is about now: leave out as_of.`);
  const owner = filters.find(({ name }) => name === OF_OWNER.name);
  if (readsEverything(request.caller) || owner === undefined) return selections;
  return [{ filter: owner, value: request.caller.principalId }, ...selections];
}

/** An entity from the log may be deleted. `EntityQueries` gives live ones only. */
const isVisible = <State>(resource: ResourceDescriptor<State>, caller: Caller, entity: Entity<State>): boolean =>
  resource.isLive?.(entity) !== false && (resource.isPrivate !== true || mayReadPrivate(caller, entity));

/** The owner, admins and auditors may learn that a deleted entity existed. */
const mayKnow = <State extends object>(
  resource: ResourceDescriptor<State>,
  caller: Caller,
  entity: Entity<State>,
): boolean => mayReadPrivate(caller, entity) || isVisible(resource, caller, entity);

const ownerFilterOf = ({ isPrivate }: ResourceDescriptor<object>, caller: Caller): string | undefined =>
  isPrivate === true && !readsEverything(caller) ? caller.principalId : undefined;
