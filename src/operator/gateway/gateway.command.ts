import type { Command } from 'commander';

const HELP = `
SSH clients that log in with a key of a credential bind with ssh -R: an address
of this machine, a domain or a label. The service is asked about each bind. A
tunnel is closed within a second once its key has lost the right. Nothing else
that SSH offers is served.

Examples:
  $ tunnel-access gateway
  $ ssh -p 2222 -R 127.0.0.1:8000:localhost:3000 gateway.example.com
  $ ssh -p 2222 -R team=blue:0:localhost:5432 gateway.example.com

Environment:
  SERVICE_URL    the service (default: http://127.0.0.1:8080)
  GATEWAY_TOKEN  one of the GATEWAY_TOKENS of the service
The other variables are in docs/own-gateway.md. It needs no database.`;

export function addGatewayCommand(program: Command): void {
  program
    .command('gateway')
    .description('Run an SSH gateway: it lets in the keys of the service, and carries their tunnels')
    .addHelpText('after', HELP)
    // Loaded late, since no other command needs SSH.
    .action(async () => (await import('./run-gateway.js')).runGateway());
}
