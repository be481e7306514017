import { Module } from '@nestjs/common';
import { ReservationsModule } from '../reservations/reservations.module.js';
import { SshCredentialsModule } from '../ssh-credentials/ssh-credentials.module.js';
import { EnrollController } from './enroll.controller.js';
import { EnrollDeviceHandler } from './enroll-device.js';
import { EnrolledDevices } from './enrolled-devices.js';
import { EnrollmentKeysController } from './enrollment-keys.controller.js';
import { ENROLLMENT_KEY_HANDLERS } from './enrollment-keys.handlers.js';

@Module({
  imports: [SshCredentialsModule, ReservationsModule],
  controllers: [EnrollmentKeysController, EnrollController],
  providers: [EnrolledDevices, EnrollDeviceHandler, ...ENROLLMENT_KEY_HANDLERS],
})
export class EnrollmentKeysModule {}
