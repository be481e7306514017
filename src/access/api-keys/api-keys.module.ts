import { Module } from '@nestjs/common';
import { ApiKeysController } from './api-keys.controller.js';
import { CreateApiKeyHandler, DeleteApiKeyHandler, UpdateApiKeyHandler } from './api-keys.handlers.js';

@Module({
  controllers: [ApiKeysController],
  providers: [CreateApiKeyHandler, UpdateApiKeyHandler, DeleteApiKeyHandler],
})
export class ApiKeysModule {}
