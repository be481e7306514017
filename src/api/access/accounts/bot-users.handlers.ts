import { omitUndefined } from '../../../kernel/omit-undefined.js';
import { malformed } from '../../../kernel/problem.js';
import { handlerOf } from '../../resources/handler-of.js';
import { BOT_USERS, ChangeBotUserRole, CreateBotUser, DeleteBotUser, UpdateBotUser } from './bot-users.resource.js';
import { changeBotRole, createBot, remove, updateBot } from './principal.js';
import { Principals } from './principals.js';
import { parseRole } from './role.js';

export const BOT_USER_HANDLERS = [
  handlerOf(CreateBotUser, [Principals], ({ context, body: { name = '', active = true } }, principals) =>
    principals.create(BOT_USERS, context, () => createBot({ name: parseName(name), active })),
  ),
  handlerOf(UpdateBotUser, [Principals], ({ context, id, body }, principals) => {
    const { name, active } = body;
    const decide = () => updateBot(omitUndefined({ name: name === undefined ? undefined : parseName(name), active }));
    return principals.apply(BOT_USERS, context, id, decide, body);
  }),
  handlerOf(DeleteBotUser, [Principals], ({ context, id }, principals) =>
    principals.apply(BOT_USERS, context, id, () => remove),
  ),
  handlerOf(ChangeBotUserRole, [Principals], ({ context, id, body }, principals) =>
    principals.apply(BOT_USERS, context, id, () => changeBotRole(parseRole(body.role))),
  ),
];

function parseName(name: string): string {
  if (name.trim() !== '') return name;
  throw malformed('name is missing; send a name of 1 to 255 bytes.');
}
