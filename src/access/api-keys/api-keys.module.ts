import { Module } from '@nestjs/common';
import { CreateApiKeyHandler, DeleteApiKeyHandler, UpdateApiKeyHandler } from './api-keys.commands.js';
import { ApiKeysController } from './api-keys.controller.js';

@Module({
  controllers: [ApiKeysController],
  providers: [CreateApiKeyHandler, UpdateApiKeyHandler, DeleteApiKeyHandler],
})
export class ApiKeysModule {}
