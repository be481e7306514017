import { Module } from '@nestjs/common';
import { CallerController } from './caller.controller.js';

@Module({ controllers: [CallerController] })
export class CallerModule {}
