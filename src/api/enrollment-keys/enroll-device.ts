import { Inject } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { type Entity, fold, type StreamAppend } from '../../event-log/index.js';
import type { Caller } from '../../kernel/caller.js';
import { IdSource } from '../../kernel/ids.js';
import { splitPort } from '../../rules/index.js';
import type { CallerGateway } from '../caller/caller.resource.js';
import { gatewaysOf } from '../caller/gateways.js';
import { boundBy, knownHosts, sshLine, unknownIn } from '../caller/ssh-line.js';
import { Answer } from '../http/answer.js';
import { etagOf } from '../http/preconditions.js';
import type { RequestContext } from '../http/request-context.js';
import { poolOf, ReservationPolicy } from '../reservations/address-pools.js';
import { FreeAddresses } from '../reservations/free-addresses.js';
import { reservedAddr } from '../reservations/reserved-addr.js';
import { ADDR_CONSTRAINT } from '../reservations/reserved-addrs.read-model.js';
import { RESERVED_ADDRS } from '../reservations/reserved-addrs.resource.js';
import { ELSEWHERE_CONSTRAINT } from '../reservations/reserved-domains.read-model.js';
import { Changes, type Refusals } from '../resources/changes.js';
import { CreateCommand } from '../resources/commands.js';
import { OWNER_DELETED_CONSTRAINT } from '../resources/resource-descriptor.js';
import {
  type CreatedSshCredential,
  create as createCredential,
  type KeyOfCredential,
  REMOVAL,
  type SshCredential,
} from '../ssh-credentials/ssh-credential.js';
import { keyOf, NewCredentials, SshCredentialPolicy } from '../ssh-credentials/ssh-credentials.handlers.js';
import { DEVICE_NAME_CONSTRAINT } from '../ssh-credentials/ssh-credentials.read-model.js';
import { SSH_CREDENTIALS, type SshCredentialResource } from '../ssh-credentials/ssh-credentials.resource.js';
import { aclOf, parseDeviceName } from './device-acl.js';
import type { EnrollBody, EnrolledResource } from './enroll.resource.js';
import { EnrolledDevices } from './enrolled-devices.js';
import {
  type EnrollmentKey,
  type EnrollmentKeyUse,
  mayReplace,
  refuseUsedUp,
  requireKeyFor,
  use,
} from './enrollment-key.js';
import { ENROLLMENT_KEYS } from './enrollment-keys.resource.js';

export class EnrollDevice extends CreateCommand<EnrollBody> {}

/** The answer to a device: its credential, and how to connect. */
class Enrolled extends Answer {
  constructor(
    private readonly credential: Entity<SshCredential>,
    private readonly position: number,
    private readonly gateways: readonly CallerGateway[],
  ) {
    super();
  }

  get headers() {
    return { 'log-position': String(this.position), etag: etagOf(this.credential) };
  }

  render(baseUrl: string): EnrolledResource {
    const credential = SSH_CREDENTIALS.toResource(this.credential, baseUrl) as SshCredentialResource;
    const address = this.credential.device_addr ?? null;
    const target = address ?? boundBy(this.credential.acl);
    const { address: gateway = null } = this.gateways.find((one) => one.address !== null) ?? {};
    const ssh = gateway === null ? null : sshLine(gateway, { target });
    const known_hosts = this.gateways.flatMap(knownHosts).join('');
    return { credential, address, ssh, known_hosts: known_hosts || null, note: unknownIn(this.gateways) };
  }
}

/** What an enrolment makes of a name and a key. */
interface Wanted {
  readonly key: EnrollmentKey;
  readonly name: string;
  readonly sent: KeyOfCredential;
  /** The credential that the device had. */
  readonly old: Entity<SshCredential> | undefined;
}

interface Made {
  readonly used: EnrollmentKeyUse;
  readonly streams: readonly StreamAppend[];
}

/** A device makes its credential: the credential, its address and the use of the key are one append. */
@CommandHandler(EnrollDevice)
export class EnrollDeviceHandler implements ICommandHandler<EnrollDevice> {
  constructor(
    private readonly changes: Changes,
    private readonly ids: IdSource,
    private readonly devices: EnrolledDevices,
    private readonly added: NewCredentials,
    private readonly free: FreeAddresses,
    private readonly policy: SshCredentialPolicy,
    private readonly pools: ReservationPolicy,
    @Inject(POOL) private readonly pool: Pool,
  ) {}

  execute({ context, body }: EnrollDevice): Promise<Enrolled> {
    const { accountId } = context;
    const name = parseDeviceName(body.name);
    const sent = keyOf(body.public_key, this.policy);
    return this.free.withAny(accountId, '', async (take) => {
      // The attempts of a change run one after another, and each of them decides before its append.
      let made: readonly StreamAppend[] = [];
      const decide = async (found: EnrollmentKey | undefined, { caller }: RequestContext, at: Date) => {
        made = [];
        const key = requireKeyFor(found, name);
        const old = await this.devices.find(accountId, name);
        // Its answer was lost, so it asks again.
        if (old?.fingerprint === sent.fingerprint) return [];
        if (old !== undefined && !mayReplace(key)) throw await this.devices.taken(old, name);
        refuseUsedUp(key);
        const { used, streams } = await this.make(caller, { key, name, sent, old }, take, at);
        made = streams;
        return use(used);
      };
      const id = context.caller.principalId;
      const options = { refusals: this.refusals, alongside: async () => made };
      const { position } = await this.changes.apply(ENROLLMENT_KEYS, context, id, decide, options);
      const credential = await this.devices.find(accountId, name);
      if (credential === undefined) throw SSH_CREDENTIALS.notFound();
      return new Enrolled(credential, position, await gatewaysOf(this.pool, accountId));
    });
  }

  /** Another instance may have taken the name or the address, and somebody may have deleted the owner. */
  private get refusals(): Refusals {
    const names = [DEVICE_NAME_CONSTRAINT, ADDR_CONSTRAINT, ELSEWHERE_CONSTRAINT, OWNER_DELETED_CONSTRAINT];
    const again = Object.fromEntries(names.map((name) => [name, 'again'] as const));
    return this.free.optionsWith({ ...this.added.refusals, ...again }).refusals ?? {};
  }

  /** Throws Problem if there is no free address, or if the owner or the public key is not usable. */
  private async make(
    caller: Caller,
    { key, name, sent, old }: Wanted,
    take: () => Promise<string>,
    at: Date,
  ): Promise<Made> {
    const kept = old && key.reserve_addr ? await this.devices.addrOf(old) : undefined;
    const reserved = key.reserve_addr && kept === undefined ? await this.reserve(caller, name, take, at) : undefined;
    const addr = kept ?? reserved?.addr ?? null;
    const credential: CreatedSshCredential = {
      ...{ description: name, metadata: '', owner_id: key.owner_id, acl: aclOf(key.acl, { name, addr }), ...sent },
      ...{ device_name: name, ...(addr !== null && { device_addr: addr }), enrolled_by: caller.principalId },
      ...(old !== undefined && { replaces: old.id }),
    };
    await this.added.refuseUnusable(caller, credential);
    const ref = { accountId: caller.accountId, id: this.ids.next('sshcr', at) };
    const { model } = SSH_CREDENTIALS;
    const events = createCredential(credential);
    const ended = old === undefined ? [] : await this.devices.allOf(old);
    return {
      used: {
        ...{ name, credential_id: ref.id },
        ...(reserved !== undefined && { reserved_addr_id: reserved.stream.id }),
        ...(old !== undefined && { replaced_credential_id: old.id }),
      },
      streams: [
        ...ended.map((one) => ({ model, id: one.id, before: one, events: [REMOVAL], after: undefined })),
        ...(reserved ? [reserved.stream] : []),
        { model, id: ref.id, before: undefined, events, after: fold(model, ref, undefined, events, at) },
      ],
    };
  }

  private async reserve(caller: Caller, name: string, take: () => Promise<string>, at: Date) {
    const addr = await take();
    await this.free.requireRoom(caller.accountId);
    const { host, port } = splitPort(addr);
    const region = poolOf(this.pools.addressPools, host, Number(port))?.region ?? '';
    const ref = { accountId: caller.accountId, id: this.ids.next('ra', at) };
    const { model } = RESERVED_ADDRS;
    const events = reservedAddr.create({ description: name, metadata: '', addr, region });
    const after = fold(model, ref, undefined, events, at);
    const { maximum } = this.free.optionsWith({});
    return { addr, stream: { model, id: ref.id, before: undefined, events, after, maximum } };
  }
}
