import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { omitUndefined } from '../../../kernel/omit-undefined.js';
import { malformed } from '../../../kernel/problem.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../../resources/commands.js';
import {
  BOT_USERS,
  type CreateBotUserBody,
  type PutBotUserRoleBody,
  type UpdateBotUserBody,
} from './bot-users.resource.js';
import { changeBotRole, createBot, remove, updateBot } from './principal.js';
import { Principals } from './principals.js';
import { parseRole } from './role.js';

export class CreateBotUser extends CreateCommand<CreateBotUserBody> {}
export class UpdateBotUser extends UpdateCommand<UpdateBotUserBody> {}
export class DeleteBotUser extends DeleteCommand {}
export class ChangeBotUserRole extends UpdateCommand<PutBotUserRoleBody> {}

@CommandHandler(CreateBotUser)
class CreateBotUserHandler implements ICommandHandler<CreateBotUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, body }: CreateBotUser) {
    return this.principals.create(BOT_USERS, context, () => createBot(parseBot(body)));
  }
}

@CommandHandler(UpdateBotUser)
class UpdateBotUserHandler implements ICommandHandler<UpdateBotUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id, body }: UpdateBotUser) {
    return this.principals.apply(BOT_USERS, context, id, (bot) => updateBot(bot, parseChanges(body)), body);
  }
}

@CommandHandler(DeleteBotUser)
class DeleteBotUserHandler implements ICommandHandler<DeleteBotUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id }: DeleteBotUser) {
    return this.principals.apply(BOT_USERS, context, id, remove);
  }
}

@CommandHandler(ChangeBotUserRole)
class ChangeBotUserRoleHandler implements ICommandHandler<ChangeBotUserRole> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id, body }: ChangeBotUserRole) {
    return this.principals.apply(BOT_USERS, context, id, (bot) => changeBotRole(bot, parseRole(body.role)));
  }
}

/** Throws Problem. */
const parseBot = ({ name = '', active = true }: CreateBotUserBody) => ({ name: parseName(name), active });

/** The fields that a change gives. Throws Problem. */
const parseChanges = ({ name, active }: UpdateBotUserBody) =>
  omitUndefined({ name: name === undefined ? undefined : parseName(name), active });

function parseName(name: string): string {
  if (name.trim() !== '') return name;
  throw malformed('name is missing; send a name of 1 to 255 bytes.');
}

export const BOT_USER_HANDLERS = [
  CreateBotUserHandler,
  UpdateBotUserHandler,
  DeleteBotUserHandler,
  ChangeBotUserRoleHandler,
];
