import { Module } from '@nestjs/common';
import { FreeAddresses } from './free-addresses.js';
import { ReservedAddrsController } from './reserved-addrs.controller.js';
import { RESERVED_ADDR_HANDLERS } from './reserved-addrs.handlers.js';
import { ReservedDomainsController } from './reserved-domains.controller.js';
import { RESERVED_DOMAIN_HANDLERS } from './reserved-domains.handlers.js';
import { TlsAskController } from './tls-ask.controller.js';
import { ToldHosts } from './told-hosts.js';

/** `ReservedNames`, which gateways and edges need too, comes from the global AppModule. */
@Module({
  controllers: [ReservedAddrsController, ReservedDomainsController, TlsAskController],
  providers: [FreeAddresses, ToldHosts, ...RESERVED_ADDR_HANDLERS, ...RESERVED_DOMAIN_HANDLERS],
  exports: [FreeAddresses],
})
export class ReservationsModule {}
