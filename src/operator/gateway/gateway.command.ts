import type { Command } from 'commander';

const HELP = `
An SSH client logs in with the key of a credential. With ssh -R it binds an
address of this machine, a domain or labels. The gateway asks the service about
each bind, and closes a tunnel within a second after its key has lost the right.
It serves nothing else that SSH offers.

Examples:
  $ tunnel-access gateway
  $ ssh -p 2222 -R 127.0.0.1:8000:localhost:3000 gateway.example.com
  $ ssh -p 2222 -R team=blue:0:localhost:5432 gateway.example.com

Environment:
  SERVICE_URL    the service (default: http://127.0.0.1:8080)
  GATEWAY_TOKEN  one of the GATEWAY_TOKENS of the service
The other variables are in docs/own-gateway.md. It needs no database.`;

export function gatewayCommand(command: Command): void {
  command
    .addHelpText('after', HELP)
    // Imported late, since no other command needs SSH.
    .action(async () => (await import('./run-gateway.js')).runGateway());
}
