import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { Text } from '../http/validated-body.js';
import { PUBLIC_KEY, SshCredentialResource } from '../ssh-credentials/ssh-credentials.resource.js';

const NAME = {
  description: 'Name of the device, unique in the account: a label of a domain.',
  maxLength: 63,
  example: 'camera-7',
};
const NULLABLE = { type: 'string' as const, nullable: true };

export class EnrollBody {
  @Text({ ...NAME, required: true }) name?: string;
  @Text({ ...PUBLIC_KEY, required: true }) public_key?: string;
}

@ApiSchemaName('Enrolled')
export class EnrolledResource {
  @ApiField({ description: 'The credential of the device.', type: SshCredentialResource })
  credential!: SshCredentialResource;
  @ApiField({
    ...NULLABLE,
    description: 'The address that only this account may bind; null without one.',
    example: null,
  })
  address!: string | null;
  @ApiField({
    ...NULLABLE,
    description: 'The command that opens its tunnel to port 3000; null if no gateway says its address.',
    example: 'ssh -N -p 2222 -R camera-7.devices.example.com:443:localhost:3000 ssh.example.com',
  })
  ssh!: string | null;
  @ApiField({
    ...NULLABLE,
    description: 'Lines for a file `known_hosts`; null if no gateway says them.',
    example: 'ssh.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB4d3XkgzFyHVGZ+LFUBdyDlGX+5Hh7hXIJO6X+fTPvs\n',
  })
  known_hosts!: string | null;
  @ApiField({ ...NULLABLE, description: 'What is not known, and who may know it.', example: null }) note!:
    | string
    | null;
}
