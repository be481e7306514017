import type { Connections } from '../../database/index.js';
import { Problem } from '../../kernel/problem.js';
import type { DomainEvent } from '../event.js';
import type { Entity, ReadModel } from '../read-model.js';
import { AsOfQueries } from './as-of-queries.js';
import type { Moment } from './log-positions.js';
import { LogReader } from './log-reader.js';

/** The most streams that one question folds. An edge that somebody checks has some hundred rules at most. */
const MAX_STREAMS = 1_000;

/** What the log of one account says as of a moment. A question that needs more than 1,000 streams throws Problem. */
export class Past {
  private streams = 0;

  constructor(
    private readonly connections: Connections,
    readonly accountId: string,
    readonly moment: Moment,
  ) {}

  /** Undefined before its creation and after its deletion. */
  async entity<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    id: string,
  ): Promise<Entity<State> | undefined> {
    this.count(1);
    const { connections, accountId, moment } = this;
    return new LogReader(connections).entityAt(model, { accountId, id }, moment.position);
  }

  /** The entities whose creation has one of the texts as a value. */
  async mentioning<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    texts: readonly string[],
  ): Promise<readonly Entity<State>[]> {
    const [idPrefix = ''] = model.streamPrefixes;
    const page = { accountId: this.accountId, idPrefix, beforeId: null, position: this.moment.position };
    const mentioned = texts.map((text) => JSON.stringify(text));
    const wanted = { ...page, max: MAX_STREAMS + 1, mentioned };
    const found = texts.length === 0 ? [] : await new AsOfQueries(this.connections).list(model, wanted, () => true);
    this.count(found.length);
    return found;
  }

  private count(streams: number): void {
    this.streams += streams;
    if (this.streams <= MAX_STREAMS) return;
    const found = `The answer needs more than ${MAX_STREAMS} streams of the log, such as rules of IP policies`;
    throw new Problem('conflict', `${found}. Ask about less.`);
  }
}
