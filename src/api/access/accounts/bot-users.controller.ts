import { partControllerOf } from '../../resources/routes/part-routes.js';
import { controllerOf } from '../../resources/routes/resource-routes.js';
import {
  BOT_USERS,
  BotUserResource,
  BotUserRoleResource,
  ChangeBotUserRole,
  CreateBotUser,
  CreateBotUserBody,
  DeleteBotUser,
  PutBotUserRoleBody,
  SERVICE_USERS,
  ServiceUserResource,
  UpdateBotUser,
  UpdateBotUserBody,
} from './bot-users.resource.js';

const ROUTES = {
  create: { command: CreateBotUser, body: CreateBotUserBody, problems: ['role_missing', 'conflict'] },
  update: {
    command: UpdateBotUser,
    body: UpdateBotUserBody,
    description: 'An absent or null field stays as it is.',
    problems: ['role_missing', 'not_found', 'conflict'],
  },
  delete: {
    command: DeleteBotUser,
    description: 'The API keys and SSH credentials of this bot are deleted too.',
    problems: ['role_missing', 'not_found', 'conflict'],
  },
} as const;

export const BotUsersController = controllerOf(BOT_USERS, {
  ...ROUTES,
  names: ['BotUser', 'BotUsers'],
  nouns: ['a bot user', 'bot users'],
  answer: BotUserResource,
});

export const ServiceUsersController = controllerOf(SERVICE_USERS, {
  ...ROUTES,
  names: ['ServiceUser', 'ServiceUsers'],
  nouns: ['a service user', 'service users'],
  answer: ServiceUserResource,
});

export const BotUserRoleController = partControllerOf(BOT_USERS, {
  tag: 'Bot users',
  name: 'BotUserRole',
  path: 'role',
  summaries: ['Set the role of a bot user', 'Get the role of a bot user', 'Make a bot user a member'],
  ofRemoval: 'It answers the same if the bot is a member already.',
  problems: { put: ['not_found', 'conflict'], remove: ['not_found', 'conflict'] },
  answer: BotUserRoleResource,
  body: PutBotUserRoleBody,
  shown: ({ role }) => ({ role }),
  set: (context, id, body) => new ChangeBotUserRole(context, id, body),
  remove: (context, id) => new ChangeBotUserRole(context, id, { role: 'member' }),
});
