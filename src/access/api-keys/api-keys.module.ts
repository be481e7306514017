import { Module } from '@nestjs/common';
import { ApiKeyExpiryController } from './api-key-expiry.controller.js';
import { ApiKeysController } from './api-keys.controller.js';
import {
  CreateApiKeyHandler,
  DeleteApiKeyHandler,
  SetApiKeyExpiryHandler,
  UpdateApiKeyHandler,
} from './api-keys.handlers.js';

@Module({
  controllers: [ApiKeysController, ApiKeyExpiryController],
  providers: [CreateApiKeyHandler, UpdateApiKeyHandler, SetApiKeyExpiryHandler, DeleteApiKeyHandler],
})
export class ApiKeysModule {}
