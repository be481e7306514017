import { Module } from '@nestjs/common';
import { ApiKeyExpiryController, ApiKeysController } from './api-keys.controller.js';
import { API_KEY_HANDLERS } from './api-keys.handlers.js';

@Module({ controllers: [ApiKeysController, ApiKeyExpiryController], providers: API_KEY_HANDLERS })
export class ApiKeysModule {}
