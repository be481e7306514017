import { omitUndefined } from '../../omit-undefined.js';
import { Problem } from '../../problem.js';
import { handlerOf } from '../../resources/handler-of.js';
import { BOT_USERS, CreateBotUser, DeleteBotUser, UpdateBotUser } from './bot-users.resource.js';
import { createBot, remove, updateBot } from './principal.js';
import { Principals } from './principals.js';

export const CreateBotUserHandler = handlerOf(CreateBotUser, Principals, (principals, { context, body }) => {
  const { name = '', active = true } = body;
  return principals.create(BOT_USERS, context, () => createBot({ name: parseName(name), active }));
});

export const UpdateBotUserHandler = handlerOf(UpdateBotUser, Principals, (principals, { context, id, body }) => {
  const { name, active } = body;
  const decide = () => updateBot(omitUndefined({ name: name === undefined ? undefined : parseName(name), active }));
  return principals.apply(BOT_USERS, context, id, decide, body);
});

export const DeleteBotUserHandler = handlerOf(DeleteBotUser, Principals, (principals, { context, id }) =>
  principals.apply(BOT_USERS, context, id, () => remove),
);

function parseName(name: string): string {
  if (name.trim() !== '') return name;
  throw new Problem('request_malformed', 'name is missing; send a name of 1 to 255 bytes.');
}
