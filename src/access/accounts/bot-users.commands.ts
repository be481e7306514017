import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { RequestContext } from '../../http/request-context.js';
import type { Entity } from '../../log/read-model.js';
import { Problem } from '../../problem.js';
import type { Changed } from '../../resources/changes.js';
import { Bots } from '../access.queries.js';
import { createBot, type Principal, updateBot } from './principal.js';
import { checked, Principals } from './principals.js';

export class CreateBot {
  constructor(
    readonly context: RequestContext,
    readonly input: { readonly name?: string; readonly active?: boolean },
  ) {}
}

@CommandHandler(CreateBot)
export class CreateBotHandler implements ICommandHandler<CreateBot> {
  constructor(private readonly principals: Principals) {}

  async execute({ context, input }: CreateBot): Promise<Changed<Principal>> {
    const bot = { name: parseName(input.name ?? ''), active: input.active ?? true };
    return this.principals.create(context, 'bot', createBot(bot));
  }
}

export class UpdateBot {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly input: { readonly name?: string; readonly active?: boolean },
    /** Refuses what cannot be changed; asked with the bot as it is. */
    readonly check: (bot: Entity<Principal> | undefined) => void,
  ) {}
}

@CommandHandler(UpdateBot)
export class UpdateBotHandler implements ICommandHandler<UpdateBot> {
  constructor(
    private readonly principals: Principals,
    private readonly bots: Bots,
  ) {}

  async execute({ context, id, input, check }: UpdateBot): Promise<Changed<Principal>> {
    const { name, active } = input;
    const change = updateBot({
      ...(name !== undefined && { name: parseName(name) }),
      ...(active !== undefined && { active }),
    });
    return this.principals.change(context, id, checked(this.bots, context, id, check), change);
  }
}

function parseName(name: string): string {
  if (name.trim() !== '') return name;
  throw new Problem('request_malformed', 'name is missing; give the bot a name, 1 to 255 bytes.');
}
