import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { omitUndefined } from '../../omit-undefined.js';
import { Problem } from '../../problem.js';
import { BOT_USERS, CreateBotUser, DeleteBotUser, UpdateBotUser } from './bot-users.resource.js';
import { createBot, remove, updateBot } from './principal.js';
import { Principals } from './principals.js';

@CommandHandler(CreateBotUser)
export class CreateBotUserHandler implements ICommandHandler<CreateBotUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, body }: CreateBotUser) {
    const { name = '', active = true } = body;
    return this.principals.create(BOT_USERS, context, () => createBot({ name: parseName(name), active }));
  }
}

@CommandHandler(UpdateBotUser)
export class UpdateBotUserHandler implements ICommandHandler<UpdateBotUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id, body }: UpdateBotUser) {
    const { name, active } = body;
    const decide = () => updateBot(omitUndefined({ name: name === undefined ? undefined : parseName(name), active }));
    return this.principals.apply(BOT_USERS, context, id, decide, body);
  }
}

@CommandHandler(DeleteBotUser)
export class DeleteBotUserHandler implements ICommandHandler<DeleteBotUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id }: DeleteBotUser) {
    return this.principals.apply(BOT_USERS, context, id, () => remove);
  }
}

function parseName(name: string): string {
  if (name.trim() !== '') return name;
  throw new Problem('request_malformed', 'name is missing; send a name of 1 to 255 bytes.');
}
