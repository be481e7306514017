import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_KSUID, idPattern } from '../http/openapi/parts.js';

@ApiSchemaName('CallerGateway')
export class CallerGateway {
  @ApiField({
    description: 'Host and port where SSH clients reach it; null if it does not know.',
    type: 'string',
    nullable: true,
    example: 'ssh.example.com:2222',
  })
  address!: string | null;
  @ApiField({
    description: 'Its public host keys, as `known_hosts` has them after the name of the host.',
    type: 'array',
    items: { type: 'string' },
    example: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB4d3XkgzFyHVGZ+LFUBdyDlGX+5Hh7hXIJO6X+fTPvs'],
  })
  host_keys!: readonly string[];
}

@ApiSchemaName('Caller')
export class CallerResource {
  @ApiField({ description: 'Id of the user or bot.', example: `usr_${EXAMPLE_KSUID}` }) id!: string;
  @ApiField({ description: 'Whether it is a person or a program.', enum: ['user', 'bot'], example: 'user' })
  kind!: string;
  @ApiField({ description: 'Email address of the user, or name of the bot.', example: 'ada@example.com' })
  name!: string;
  @ApiField({ description: 'What it may do.', enum: ['admin', 'member', 'auditor'], example: 'admin' }) role!: string;
  @ApiField({ description: 'Id of its account.', pattern: idPattern('ac'), example: `ac_${EXAMPLE_KSUID}` })
  account_id!: string;
  @ApiField({
    description: 'Id of the API key that was sent; null for a token of the issuer.',
    type: 'string',
    nullable: true,
    example: `ak_${EXAMPLE_KSUID}`,
  })
  api_key_id!: string | null;
  @ApiField({ description: 'Gateways of the account that report now, at most 100.', listOf: CallerGateway })
  gateways!: readonly CallerGateway[];
}
