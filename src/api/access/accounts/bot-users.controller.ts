import { partController } from '../../resources/part-controller.js';
import { ChangeBotUserRole, CreateBotUser, DeleteBotUser, UpdateBotUser } from './bot-users.handlers.js';
import {
  BOT_USERS,
  BotUserResource,
  BotUserRoleResource,
  CreateBotUserBody,
  PutBotUserRoleBody,
  SERVICE_USERS,
  ServiceUserResource,
  UpdateBotUserBody,
} from './bot-users.resource.js';
import { principalsController } from './principals-controller.js';

/** Clients know bots by two paths: see SERVICE_USERS. */
const BOTS = {
  bodies: { create: CreateBotUserBody, update: UpdateBotUserBody },
  commands: { Create: CreateBotUser, Update: UpdateBotUser, Delete: DeleteBotUser },
  update: 'An absent or null field stays as it is.',
  delete: 'The API keys and SSH credentials of this bot are deleted too.',
};

const ROLE_PROBLEMS = ['not_found', 'conflict'] as const;

export const BOT_USER_CONTROLLERS = [
  principalsController({ ...BOTS, of: BOT_USERS, name: 'BotUser', noun: 'bot user', resource: BotUserResource }),
  principalsController({
    ...BOTS,
    of: SERVICE_USERS,
    name: 'ServiceUser',
    noun: 'service user',
    resource: ServiceUserResource,
  }),
  partController({
    of: BOT_USERS,
    tag: 'Bot users',
    path: 'role',
    name: 'BotUserRole',
    what: 'the role of a bot user',
    put: { problems: ROLE_PROBLEMS },
    get: { problems: ['not_found'] },
    delete: {
      summary: 'Make a bot user a member',
      description: 'It answers the same if the bot is a member already.',
      problems: ROLE_PROBLEMS,
    },
    body: PutBotUserRoleBody,
    resource: BotUserRoleResource,
    show: ({ role }) => ({ role }),
    absent: 'The bot has no role.',
    change: (context, id, body) => new ChangeBotUserRole(context, id, body ?? { role: 'member' }),
  }),
];
