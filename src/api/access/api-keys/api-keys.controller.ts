import { expiryRoutes } from '../../resources/expiry/expiry.resource.js';
import { partControllerOf } from '../../resources/routes/part-routes.js';
import { controllerOf } from '../../resources/routes/resource-routes.js';
import {
  API_KEYS,
  ApiKeyResource,
  CreateApiKey,
  CreateApiKeyBody,
  CreatedApiKeyResource,
  DeleteApiKey,
  SetApiKeyExpiry,
  UpdateApiKey,
  UpdateApiKeyBody,
} from './api-keys.resource.js';

export const ApiKeysController = controllerOf(API_KEYS, {
  names: ['ApiKey', 'ApiKeys'],
  nouns: ['an API key', 'API keys'],
  answer: ApiKeyResource,
  created: CreatedApiKeyResource,
  create: { command: CreateApiKey, body: CreateApiKeyBody, problems: ['owner_not_yours', 'owner_inactive'] },
  list: { description: 'Members see their own keys; admins and auditors see all keys.' },
  update: {
    command: UpdateApiKey,
    body: UpdateApiKeyBody,
    description: 'An absent or null field stays as it is; an empty text clears.',
    problems: ['not_found'],
  },
  delete: {
    command: DeleteApiKey,
    description: 'The key is refused from the next request on.',
    problems: ['not_found'],
  },
});

export const ApiKeyExpiryController = partControllerOf(API_KEYS, {
  ...expiryRoutes('API key', SetApiKeyExpiry),
  tag: 'API keys',
  name: 'ApiKeyExpiry',
  summaries: ['Set when an API key expires', 'Get when an API key expires', 'Let an API key never expire'],
  description:
    'A time in the past takes effect at once. An expired key is refused with 401, and cannot change its own expiry.',
  problems: { put: ['not_found'], remove: ['not_found'] },
});
