import { type Caller, isAdmin } from '../caller.js';
import type { Ref } from '../database/coalesce.js';
import { Answer } from '../http/answer.js';
import { lastOf, type PageRequest, pageOf, readPageRequest } from '../http/pages.js';
import { etagOf } from '../http/preconditions.js';
import { type ReadRequest } from '../http/request-context.js';
import { isId } from '../ids.js';
import type { DomainEvent } from '../log/event.js';
import type { AsOfQueries } from '../log/read/as-of-queries.js';
import type { LogPositions } from '../log/read/log-positions.js';
import type { LogReader } from '../log/read/log-reader.js';
import type { Entity } from '../log/read-model.js';
import { isOwnerOrAdmin, refuseUnlessMayReadHistory } from './access-rules.js';
import type { EntityQueries } from './entity-queries.js';
import { historyPage } from './history.js';
import type { HistoryResource } from './history.resource.js';
import type { Resource } from './resource.js';

/** The answer to a GET of one entity. */
export class Found<State> extends Answer {
  constructor(
    private readonly resource: Resource<State>,
    readonly entity: Entity<State>,
  ) {
    super();
  }

  get headers() {
    return { etag: etagOf(this.entity) };
  }

  render(baseUrl: string): object {
    return this.resource.toResource(this.entity, baseUrl);
  }
}

/** The GETs of every resource: an entity, a page of entities, or a history; now, or `as_of` a position or time. */
export class Reads {
  constructor(
    private readonly entities: EntityQueries,
    private readonly positions: LogPositions,
    private readonly log: LogReader,
    private readonly asOf: AsOfQueries,
  ) {}

  /** Throws the resource's notFound if the entity does not exist or is not visible to the caller. */
  async get<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    { caller, query }: ReadRequest,
    id: string,
  ): Promise<Found<State>> {
    const ref = { accountId: caller.accountId, id };
    const position = await this.positionOf(ref.accountId, query);
    const entity =
      position === undefined ? await this.entities.find(resource, ref) : await this.findAt(resource, ref, position);
    if (entity === undefined || !isVisible(resource, caller, entity)) throw resource.notFound();
    return new Found(resource, entity);
  }

  async list<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    { caller, baseUrl, query }: ReadRequest,
  ): Promise<Record<string, unknown>> {
    const page = readPageRequest(query, resource.idPrefix);
    const position = await this.positionOf(caller.accountId, query);
    const found =
      position === undefined
        ? await this.entities.list(resource, caller.accountId, page, ownerFilterOf(resource, caller))
        : await this.listAt(resource, caller, page, position);
    // All pages show the same position, even if `as_of` is a time.
    const nextPageQuery = position === undefined ? {} : { as_of: position };
    const toItem = (entity: Entity<State>): object => resource.toResource(entity, baseUrl);
    return pageOf(resource.plural, `${baseUrl}/${resource.path}`, page, found, toItem, nextPageQuery);
  }

  /** Deleted entities have a history too. See refuseUnlessMayReadHistory for the callers who may read it. */
  async history<State extends object, Event extends DomainEvent>(
    resource: Resource<State, Event>,
    { caller, baseUrl, query }: ReadRequest,
    id: string,
  ): Promise<HistoryResource> {
    const { model, idPrefix, path } = resource;
    if (!isId(id, idPrefix)) throw resource.notFound();
    const upTo = (await this.positionOf(caller.accountId, query)) ?? Number.MAX_SAFE_INTEGER;
    const events = this.log.ofStreams(caller.accountId, [id], upTo);
    const { page, last } = await historyPage(model, events, query, `${baseUrl}/${path}/${id}/events`);
    if (last === undefined || !mayKnow(resource, caller, last)) throw resource.notFound();
    refuseUnlessMayReadHistory(caller, last);
    return page;
  }

  /** Undefined means the current state. */
  private async positionOf(accountId: string, query: ReadRequest['query']): Promise<number | undefined> {
    const asOf = lastOf(query.as_of);
    return asOf === undefined ? undefined : this.positions.positionOf(accountId, 'as_of', asOf);
  }

  private async findAt<State extends object>(
    { model, idPrefix }: Resource<State>,
    ref: Ref,
    position: number,
  ): Promise<Entity<State> | undefined> {
    return isId(ref.id, idPrefix) ? this.log.entityAt(model, ref, position) : undefined;
  }

  private listAt<State extends object>(
    resource: Resource<State>,
    caller: Caller,
    { beforeId, limit }: PageRequest,
    position: number,
  ): Promise<Entity<State>[]> {
    const { model, idPrefix } = resource;
    const page = { accountId: caller.accountId, idPrefix, beforeId, max: limit + 1, position };
    return this.asOf.list(model, page, (entity) => isVisible(resource, caller, entity));
  }
}

const isVisible = <State>(resource: Resource<State>, caller: Caller, entity: Entity<State>): boolean =>
  resource.isLive?.(entity) !== false && (resource.isPrivate !== true || isOwnerOrAdmin(caller, entity));

/** The owner and admins may learn that a deleted entity existed. */
const mayKnow = <State extends object>(resource: Resource<State>, caller: Caller, entity: Entity<State>): boolean =>
  isOwnerOrAdmin(caller, entity) || isVisible(resource, caller, entity);

const ownerFilterOf = ({ isPrivate }: Resource<object>, caller: Caller): string | undefined =>
  isPrivate === true && !isAdmin(caller) ? caller.principalId : undefined;
