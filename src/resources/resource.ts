import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, isAdmin } from '../caller.js';
import type { Ref } from '../database/coalesce.js';
import { lastOf, pageOf, readPageRequest } from '../http/pages.js';
import { setEtag } from '../http/preconditions.js';
import { requestContextOf } from '../http/request-context.js';
import { type IdPrefix, isId } from '../ids.js';
import type { DomainEvent } from '../log/event.js';
import type { AsOfQueries } from '../log/read/as-of-queries.js';
import type { LogPositions } from '../log/read/log-positions.js';
import type { LogReader } from '../log/read/log-reader.js';
import type { Entity, ReadModel } from '../log/read-model.js';
import { Problem } from '../problem.js';
import type { PageRequest } from './entity-queries.js';
import { historyPage } from './history.js';
import type { HistoryResource } from './history.resource.js';

/** A GET, as its route hands it on. */
export interface ReadRequest {
  readonly caller: Caller;
  readonly baseUrl: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly reply: FastifyReply;
}

/** Parameter decorator: the GET that is being served. */
export const Read = createParamDecorator((_: unknown, context: ExecutionContext): ReadRequest => {
  const http = context.switchToHttp();
  const request = http.getRequest<FastifyRequest>();
  const { caller, baseUrl } = requestContextOf(request);
  const query = request.query as Record<string, unknown>;
  return { caller, baseUrl, query, reply: http.getResponse<FastifyReply>() };
});

/** What is to be known of a kind of resource to answer its GETs. */
export interface Kind<State, Event extends DomainEvent, Resource> {
  readonly model: ReadModel<State, Event>;
  readonly idPrefix: IdPrefix;
  readonly path: string;
  /** The name of the list in its envelope. */
  readonly plural: string;
  /** The live things: one, whoever asks, and a page of them, one more when there are more. */
  readonly queries: {
    find(ref: Ref): Promise<Entity<State> | undefined>;
    list(accountId: string, page: PageRequest): Promise<Entity<State>[]>;
  };
  /** In place of the list above where not everyone is shown everything. */
  readonly listFor?: (caller: Caller, page: PageRequest) => Promise<Entity<State>[]>;
  /** Whether it is there for this caller; every thing of the account, unless a kind says otherwise. */
  readonly isShownTo?: (caller: Caller, state: State) => boolean;
  /** Who may read its history beside the admins. */
  readonly ownerOf?: (state: State) => string;
  readonly notFound: () => Problem;
  readonly toResource: (entity: Entity<State>, baseUrl: string) => Resource;
}

/** What reads are answered from, beside the live rows. */
export class Logs {
  constructor(
    readonly moments: LogPositions,
    readonly reader: LogReader,
    readonly past: AsOfQueries,
  ) {}
}

/** The GETs of one kind of resource: a thing, a page of them, and a thing's history; as they are, or `as_of` a moment. */
export class ResourceReads<State, Event extends DomainEvent, Resource> {
  constructor(
    private readonly kind: Kind<State, Event, Resource>,
    private readonly logs: Logs,
  ) {}

  async get(asked: ReadRequest, id: string): Promise<Resource> {
    const entity = await this.find(asked, id);
    setEtag(asked.reply, entity);
    return this.kind.toResource(entity, asked.baseUrl);
  }

  /** The thing with this id; throws the kind's notFound when the caller is shown none. */
  async find({ caller, query }: ReadRequest, id: string): Promise<Entity<State>> {
    const ref = { accountId: caller.accountId, id };
    const position = await this.positionOf(caller, query);
    const entity = position === undefined ? await this.kind.queries.find(ref) : await this.findAt(ref, position);
    if (entity === undefined || !this.isShown(caller, entity)) throw this.kind.notFound();
    return entity;
  }

  async list({ caller, baseUrl, query }: ReadRequest): Promise<Record<string, unknown>> {
    const { plural, path, idPrefix, toResource } = this.kind;
    const page = readPageRequest(query, idPrefix);
    const position = await this.positionOf(caller, query);
    const found = position === undefined ? await this.listNow(caller, page) : await this.listAt(caller, page, position);
    // The further pages are of the same moment, even when it was given as a time and named the newest event then.
    const further = position === undefined ? {} : { as_of: position };
    return pageOf(plural, `${baseUrl}/${path}`, page, found, (entity) => toResource(entity, baseUrl), further);
  }

  /** What became of a thing, also after its deletion. Who changed it, and from where, is for its owner and the admins. */
  async history({ caller, baseUrl, query }: ReadRequest, id: string): Promise<HistoryResource> {
    const { model, idPrefix, path, notFound } = this.kind;
    if (!isId(id, idPrefix)) throw notFound();
    const upTo = (await this.positionOf(caller, query)) ?? Number.MAX_SAFE_INTEGER;
    const events = this.logs.reader.ofStreams(caller.accountId, [id], upTo);
    const { page, last } = await historyPage(model, events, query, `${baseUrl}/${path}/${id}/events`);
    if (last === undefined) throw notFound();
    this.refuseUnlessOwnerOrAdmin(caller, last.state);
    return page;
  }

  private refuseUnlessOwnerOrAdmin(caller: Caller, state: State): void {
    const { ownerOf, isShownTo, notFound } = this.kind;
    if (isAdmin(caller) || ownerOf?.(state) === caller.principalId) return;
    if (isShownTo?.(caller, state) === false) throw notFound();
    throw new Problem('role_missing', 'Only an admin, or the owner of a thing that has one, may read its history.');
  }

  /** Undefined: as things are now. */
  private async positionOf({ accountId }: Caller, query: ReadRequest['query']): Promise<number | undefined> {
    const asOf = lastOf(query.as_of);
    return asOf === undefined ? undefined : this.logs.moments.positionOf(accountId, 'as_of', asOf);
  }

  private async findAt(ref: Ref, position: number): Promise<Entity<State> | undefined> {
    return isId(ref.id, this.kind.idPrefix) ? this.logs.reader.entityAt(this.kind.model, ref, position) : undefined;
  }

  private listNow(caller: Caller, page: PageRequest): Promise<Entity<State>[]> {
    const { listFor, queries } = this.kind;
    return listFor === undefined ? queries.list(caller.accountId, page) : listFor(caller, page);
  }

  private listAt(caller: Caller, { beforeId, limit }: PageRequest, position: number): Promise<Entity<State>[]> {
    const { model, idPrefix } = this.kind;
    const page = { accountId: caller.accountId, idPrefix, beforeId, max: limit + 1, position };
    return this.logs.past.list(model, page, (entity) => this.isShown(caller, entity));
  }

  private isShown(caller: Caller, { state }: Entity<State>): boolean {
    return this.kind.isShownTo?.(caller, state) ?? true;
  }
}
