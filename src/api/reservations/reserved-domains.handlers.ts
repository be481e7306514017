import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { Problem, quoted } from '../../kernel/problem.js';
import { Changes } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import { ReservationPolicy, restOf } from './address-pools.js';
import { FreeAddresses } from './free-addresses.js';
import { covers } from './reservation.js';
import { parseDomain, type ReservedDomain, reservedDomain } from './reserved-domain.js';
import { DOMAIN_CONSTRAINT, ELSEWHERE_CONSTRAINT } from './reserved-domains.read-model.js';
import {
  type CreateReservedDomainBody,
  RESERVED_DOMAINS,
  refuseCertificates,
  type UpdateReservedDomainBody,
} from './reserved-domains.resource.js';
import { ToldHosts } from './told-hosts.js';

export class CreateReservedDomain extends CreateCommand<CreateReservedDomainBody> {}
export class UpdateReservedDomain extends UpdateCommand<UpdateReservedDomainBody> {}
export class DeleteReservedDomain extends DeleteCommand {}

@CommandHandler(CreateReservedDomain)
class CreateReservedDomainHandler implements ICommandHandler<CreateReservedDomain> {
  constructor(
    private readonly changes: Changes,
    private readonly free: FreeAddresses,
    private readonly told: ToldHosts,
    private readonly policy: ReservationPolicy,
  ) {}

  execute({ context, body }: CreateReservedDomain) {
    refuseCertificates(body);
    const { description = '', metadata = '', region = '' } = body;
    const { domain, text } = parseDomain(body.domain);
    const decide = async () => {
      await this.refuseUnreservable(domain);
      await this.free.refuseResting(context.accountId, domain);
      await this.free.requireRoom(context.accountId, domain);
      return reservedDomain.create({ description, metadata, domain, text, region });
    };
    const options = this.free.optionsWith({
      [DOMAIN_CONSTRAINT]: () => new Problem('conflict', `${quoted(domain)} is reserved already.`),
      [ELSEWHERE_CONSTRAINT]: () =>
        new Problem('conflict', `${quoted(domain)} overlaps what another account has reserved.`),
    });
    return this.changes.create(RESERVED_DOMAINS, context, decide, options);
  }

  /** One account must not take a name from all others through which they reach the gateways or the service. */
  private async refuseUnreservable(domain: string): Promise<void> {
    const { addressPools, unreservableHosts, publicHost, tunnelDomain } = this.policy;
    if (tunnelDomain?.isShared(domain) === true || tunnelDomain?.isGiven(domain) === true)
      throw new Problem(
        'conflict',
        `${quoted(domain)} cannot be reserved: ${quoted(tunnelDomain.host)} gives it to credentials.`,
      );
    const told = (await this.told.ofGateways()).flat();
    const hosts = [...[...addressPools, ...told].map(({ host }) => host), ...unreservableHosts, publicHost];
    const host = hosts.find((one) => one !== undefined && (covers(domain, one) || domain === `*.${one}`));
    if (host === undefined) return;
    throw new Problem('conflict', `${quoted(domain)} cannot be reserved: all accounts share the host ${quoted(host)}.`);
  }
}

@CommandHandler(UpdateReservedDomain)
class UpdateReservedDomainHandler implements ICommandHandler<UpdateReservedDomain> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateReservedDomain) {
    refuseCertificates(body);
    const { description, metadata, region } = body;
    const fields = omitUndefined({ description, metadata, region });
    const decide = (one: Parameters<typeof reservedDomain.update>[0]) => reservedDomain.update(one, fields);
    return this.changes.apply(RESERVED_DOMAINS, context, id, decide, { sent: body });
  }
}

@CommandHandler(DeleteReservedDomain)
class DeleteReservedDomainHandler implements ICommandHandler<DeleteReservedDomain> {
  constructor(
    private readonly changes: Changes,
    private readonly policy: ReservationPolicy,
  ) {}

  execute({ context, id }: DeleteReservedDomain) {
    const decide = (one: ReservedDomain | undefined) => reservedDomain.remove(one, restOf(this.policy));
    return this.changes.apply(RESERVED_DOMAINS, context, id, decide);
  }
}

export const RESERVED_DOMAIN_HANDLERS = [
  CreateReservedDomainHandler,
  UpdateReservedDomainHandler,
  DeleteReservedDomainHandler,
];
