import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Body, ModelService, REFUSED_ACCOUNT, UNKNOWN_CREDENTIAL } from '../../../test/support/model-service.js';
import { IdSource } from '../../kernel/ids.js';
import { type OpenSession, OpenSessions } from './open-sessions.js';
import { bodyOf, type Report, type ReportAnswer } from './report.js';
import { Reports } from './reports.js';

const GATEWAY_ID = 'gw_of_a_test';
const facts = (account_id = 'ac_1') => ({ account_id, credential_id: 'sshcr_1', fingerprint: 'SHA256:x' });
const TUNNEL = { credential_id: 'sshcr_1', targets: [{ address: '127.0.0.1:2000' }] };

/** How the exchange of one report goes. `late`: it comes a second time after the next one. */
type Outcome = 'answered' | 'not sent' | 'answer lost' | 'late';

/** For all that a test has to tell. Without an end it would fill the memory, and nobody would see the steps. */
const MAX_EXCHANGES = 2_000;

/** A gateway and the service, with a clock that stands still. */
class Exchange {
  private nowMs = 1_000;
  readonly open = new OpenSessions(new IdSource(), () => this.nowMs);
  readonly service = new ModelService(() => this.nowMs);
  readonly reports = new Reports(this.open);
  readonly stopped = new Set<string>();
  readonly left: string[] = [];
  /** The true reason of each end. */
  readonly ended = new Map<string, string>();
  readonly sessions: OpenSession[] = [];
  readonly connections: string[] = [];
  sent = 0;
  private readonly madeAt = new Map<object, number>();
  private late: Body | undefined;

  wait(ms: number): void {
    this.nowMs += ms;
  }

  login(tunnels = 1, account?: string): OpenSession {
    const session = this.open.open(facts(account));
    session.onStop = () => void this.stopped.add(session.id);
    this.sessions.push(session);
    for (let n = 0; n < tunnels; n += 1) session.open(TUNNEL);
    return session;
  }

  end(session: OpenSession, reason: string): void {
    const isTaken = session.accountId !== REFUSED_ACCOUNT;
    if (isTaken) for (const { id } of [session, ...session.tunnels]) this.ended.set(id, reason);
    session.ended(reason);
  }

  /** The client cancels its first bind. */
  cancel(session: OpenSession): void {
    const [tunnel] = session.tunnels;
    if (tunnel === undefined) return;
    if (tunnel.accountId !== REFUSED_ACCOUNT) this.ended.set(tunnel.id, 'cancelled');
    tunnel.ended('cancelled');
  }

  carry(logs?: string): void {
    const hostport = `127.0.0.1:${this.connections.length}`;
    this.connections.push(hostport);
    const ids = { account_id: 'ac_1', session_id: 'ts_1', tunnel_id: 'tn_1', credential_id: 'sshcr_1' };
    const about = { edge_id: 'edgtcp_1', hostport, client: '127.0.0.1:9', ms: 1, bytes_in: 1, bytes_out: 2 };
    this.open.endConnection({ ...ids, ...about, reason: 'closed', ...(logs !== undefined && { logs }) });
  }

  exchange(outcome: Outcome = 'answered'): Body {
    const report = this.reports.next();
    for (const item of report.items) this.madeAt.set(item, this.madeAt.get(item) ?? this.nowMs);
    const body = bodyOf(report, { id: GATEWAY_ID }, this.nowMs) as Body;
    if (outcome === 'not sent') return body;
    this.sent += 1;
    const answer = this.service.take(body);
    if (this.late !== undefined) this.service.take(this.late);
    this.late = outcome === 'late' ? body : undefined;
    if (outcome === 'answer lost' && !this.isOutdated(report)) return body;
    this.wait(5);
    if (answer === undefined) this.leaveOut(body);
    else this.obey(answer);
    return body;
  }

  private leaveOut(body: Body): void {
    const item = this.reports.itemAt(this.service.refusedItem(body));
    if (item === undefined) throw new Error('the report does not have what the service refuses');
    this.left.push((item.fields as { id: string }).id);
    this.reports.leaveOut(item);
  }

  /**
   * What a report tells can be lost in one way: it waits until the service has forgotten the gateway, and then its
   * answer is lost, which would say what the service did not know.
   */
  private isOutdated({ items }: Report): boolean {
    return items.some((item) => (this.madeAt.get(item) ?? this.nowMs) < this.service.forgottenAt);
  }

  private obey(answer: ReportAnswer): void {
    for (const stop of this.reports.answered(answer, this.nowMs - 5)) this.open.find(stop.session_id)?.stop(stop);
  }

  /** Exchanges reports until nothing is left to tell. */
  settle(): void {
    for (let n = 0; n === 0 || this.reports.due !== 'heartbeat'; n += 1) {
      if (n > MAX_EXCHANGES) throw new Error('the reports come to no end');
      this.exchange();
    }
    this.exchange();
  }

  /** What the service holds is what is open, and each end has its record. */
  expectAgreement(): void {
    const taken = this.sessions.filter(({ accountId }) => accountId !== REFUSED_ACCOUNT);
    const open = taken.filter(({ isOpen }) => isOpen);
    const all = open.flatMap((session) => [session, ...session.tunnels]);
    const held = [...this.service.open].map(([id, { bytesIn }]) => `${id} ${bytesIn}`);
    expect(held.sort()).toEqual(all.map(({ id, used }) => `${id} ${used.bytes_in}`).sort());
    const records = [...this.service.records].map(([id, { reason }]) => `${id} ${reason}`);
    expect(records.sort()).toEqual([...this.ended].map(([id, reason]) => `${id} ${reason}`).sort());
    expect([...this.service.edgeConnections].sort()).toEqual([...this.connections].sort());
    expect(this.service.faults).toEqual([]);
  }
}

let trial: Exchange;
beforeEach(() => {
  trial = new Exchange();
});

describe('the reports of a gateway', () => {
  it('tell what opens and what ends, in one report each', () => {
    trial.settle();
    const session = trial.login(2);
    const [tunnel] = session.tunnels;
    trial.wait(300);
    expect(trial.exchange()).toEqual({
      gateway_id: GATEWAY_ID,
      report: 3,
      sessions: [{ ...facts(), id: session.id, ago_ms: 300 }],
      tunnels: [...session.tunnels].map(({ id }) => ({
        ...{ id, account_id: 'ac_1', session_id: session.id, ...TUNNEL, ago_ms: 300 },
      })),
    });
    tunnel?.count('bytes_in', 7);
    const used = { account_id: 'ac_1', bytes_in: 7, bytes_out: 0, connections: 0 };
    expect(trial.exchange().used).toEqual([tunnel, session].map((one) => ({ ...used, id: one?.id })));
    tunnel?.ended('cancelled');
    expect(trial.exchange()).toMatchObject({ ended_tunnels: [{ ...used, id: tunnel?.id, reason: 'cancelled' }] });
    expect(trial.exchange()).toEqual({ gateway_id: GATEWAY_ID, report: 6 });
  });

  it('tell what traffic policies logged about connections, and nothing of those without logs', () => {
    const logs = [{ place: 'on_tcp_connect[0].actions[0]', metadata: { from: '192.0.2.7' } }];
    trial.settle();
    trial.carry(JSON.stringify(logs));
    trial.carry();
    const [logged, other] = (trial.exchange().edge_connections ?? []) as object[];
    expect(logged).toMatchObject({ edge_id: 'edgtcp_1', logs });
    expect(other).not.toHaveProperty('logs');
  });

  it('are sent again as they were until they are answered, and only their ages grow', () => {
    trial.settle();
    const session = trial.login();
    const first = trial.exchange('not sent');
    trial.end(session, 'client');
    trial.wait(4_000);
    const again = trial.exchange('answer lost');
    expect(again.report).toBe(first.report);
    expect(again.sessions).toEqual(first.sessions?.map((one) => ({ ...one, ago_ms: 4_000 })));
    expect(again).not.toHaveProperty('ended_sessions');
    trial.settle();
    trial.expectAgreement();
  });

  it('begin with a whole state, which ends only after all that has ended was told', () => {
    for (let n = 0; n < 1_000; n += 1) trial.login();
    const first = trial.exchange();
    expect([first.sessions?.length, first.tunnels?.length, first.whole_since]).toEqual([400, 399, undefined]);
    for (const session of trial.sessions.slice(0, 900)) trial.end(session, 'client');
    const bodies: Body[] = [];
    do bodies.push(trial.exchange());
    while (trial.reports.due !== 'heartbeat');
    expect(bodies.map(({ whole_since }) => whole_since)).toEqual([undefined, undefined, 1]);
    trial.expectAgreement();
  });

  it('tell the whole state again when the service has forgotten it, or after the stream of changes broke', () => {
    const session = trial.login();
    trial.settle();
    expect(trial.exchange()).not.toHaveProperty('sessions');
    trial.reports.followed();
    expect(trial.exchange()).toMatchObject({ sessions: [{ id: session.id }], whole_since: expect.any(Number) });
    trial.wait(16_000);
    trial.settle();
    trial.expectAgreement();
  });

  it('tell the begin again of what ended while the service forgot it', () => {
    const session = trial.login();
    trial.settle();
    trial.exchange('not sent');
    trial.end(session, 'client');
    trial.wait(16_000);
    trial.settle();
    expect(trial.service.records.get(session.id)).toMatchObject({ reason: 'client' });
    trial.expectAgreement();
  });

  it('tell a session that the service forgot again with each tunnel of it that ended', () => {
    for (let n = 0; n < 450; n += 1) trial.login();
    trial.settle();
    trial.wait(16_000);
    for (const session of trial.sessions) trial.cancel(session);
    trial.settle();
    trial.expectAgreement();
  });

  it('open no session again after its end, in whatever order the service did not know its tunnels', () => {
    for (let n = 0; n < 450; n += 1) trial.login();
    trial.settle();
    for (const session of trial.sessions.slice(0, 400)) trial.cancel(session);
    trial.exchange('not sent');
    for (const session of trial.sessions) trial.end(session, 'client');
    trial.wait(16_000);
    trial.settle();
    trial.expectAgreement();
  });

  it('open no session again after its end, when the service refused an item of the report', () => {
    for (let n = 0; n < 450; n += 1) trial.login();
    trial.exchange();
    for (const session of trial.sessions) trial.end(session, 'client');
    trial.login(0, REFUSED_ACCOUNT);
    trial.exchange();
    trial.wait(16_000);
    trial.settle();
    trial.expectAgreement();
  });

  it('tell the end of what the service does not know once more, and never a session after its end', () => {
    for (const session of [trial.login(0), trial.login(0)]) {
      session.open({ ...TUNNEL, credential_id: UNKNOWN_CREDENTIAL });
    }
    trial.settle();
    const [one, other] = trial.sessions as [OpenSession, OpenSession];
    one.ended('client');
    for (const tunnel of other.tunnels) tunnel.ended('client');
    for (let n = 0; n < 3; n += 1) trial.exchange();
    expect(trial.reports.due).toBe('heartbeat');
    expect([...trial.service.open.keys()]).toEqual([other.id]);
    expect([...trial.service.records.keys(), ...trial.service.faults]).toEqual([one.id]);
  });

  it('tell what the service forgot in the middle of a whole state, even if an answer is lost then', () => {
    for (let n = 0; n < 900; n += 1) trial.login();
    const [session] = trial.sessions as [OpenSession];
    trial.exchange();
    trial.exchange('not sent');
    trial.wait(16_000);
    session.open(TUNNEL);
    trial.end(session, 'client');
    trial.exchange();
    trial.exchange('answer lost');
    trial.settle();
    trial.expectAgreement();
  });

  it('ask for the stops again if the answer that had them was lost', () => {
    const session = trial.login();
    trial.settle();
    trial.service.stopped.add(session.id);
    trial.reports.followed();
    trial.exchange('answer lost');
    trial.settle();
    expect([...trial.stopped]).toEqual([session.id]);
  });

  it('that the service refuses are sent without the item that it names, and without the tunnels of a session', () => {
    const sessions = Array.from({ length: 300 }, (_, n) => trial.login(1, n === 123 ? REFUSED_ACCOUNT : undefined));
    trial.settle();
    expect(trial.left).toEqual([sessions[123]?.id]);
    expect([trial.service.open.size, trial.sent]).toEqual([2 * 299, 3]);
    expect(trial.exchange()).not.toHaveProperty('sessions');
  });

  it('come to an end when a tunnel of a session that the service refuses has carried something', () => {
    const refused = trial.login(0, REFUSED_ACCOUNT);
    trial.settle();
    refused.open(TUNNEL).count('connections', 1);
    trial.settle();
    expect(trial.reports.due).toBe('heartbeat');
  });

  it('keep the newest ends and connections of an outage, and what was dropped ends as lost', () => {
    const session = trial.login(30_100);
    trial.settle();
    trial.exchange('not sent');
    for (const tunnel of session.tunnels) tunnel.ended('cancelled');
    for (let n = 0; n < 10_050; n += 1) trial.carry();
    expect([trial.open.droppedEnds, trial.open.droppedConnections]).toEqual([100, 50]);
    trial.settle();
    const reasons = [...trial.service.records.values()].map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === 'lost')).toHaveLength(100);
    expect([reasons.length, trial.service.open.size, trial.service.edgeConnections.length]).toEqual([
      30_100, 1, 10_000,
    ]);
  });

  it('of connections whose logs are full of commas stay below the maximum of the service', () => {
    const logs = JSON.stringify([{ place: 'a', metadata: { n: Array(2_000).fill(1) } }]);
    for (let n = 0; n < 40; n += 1) trial.carry(logs);
    expect(JSON.stringify(trial.exchange()).split(',').length).toBeLessThan(50_000);
    trial.settle();
    trial.expectAgreement();
  });

  it('of many binds with long names stay short', () => {
    const session = trial.login(0);
    const targets = Array.from({ length: 8 }, (_, n) => ({ label: { key: `key${n}`, value: 'v'.repeat(400) } }));
    for (let n = 0; n < 500; n += 1) session.open({ credential_id: 'sshcr_1', targets });
    trial.settle();
    trial.expectAgreement();
  });
});

const outcome = fc.constantFrom<Outcome>('answered', 'answered', 'answered', 'not sent', 'answer lost', 'late');
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant('report'), outcome }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('login'), tunnels: fc.nat(2), isRefused: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('end'), at: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constantFrom('bind', 'cancel', 'traffic'), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom('carry', 'follow') }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('stop'), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('wait'), ms: fc.constantFrom(100, 5_000, 16_000) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom('burst', 'all end') }) },
);
type Step = Readonly<{
  act: string;
  outcome?: Outcome;
  tunnels?: number;
  isRefused?: number;
  at?: number;
  ms?: number;
}>;

function take({ act, outcome: how, tunnels = 0, isRefused, at = 0, ms = 0 }: Step): void {
  const open = trial.sessions.filter(({ isOpen }) => isOpen);
  const session = open[at % Math.max(1, open.length)];
  const [tunnel] = session?.tunnels ?? [];
  if (act === 'report') trial.exchange(how);
  else if (act === 'login') trial.login(tunnels, isRefused === 0 ? REFUSED_ACCOUNT : undefined);
  else if (act === 'carry') trial.carry();
  else if (act === 'follow') trial.reports.followed();
  else if (act === 'wait') trial.wait(ms);
  else if (act === 'burst') for (let n = 0; n < 450; n += 1) trial.login();
  else if (act === 'all end') for (const one of open) trial.end(one, 'client');
  else if (session === undefined) return;
  else if (act === 'end') trial.end(session, 'idle');
  else if (act === 'bind') session.open(TUNNEL);
  else if (act === 'stop') trial.service.stopped.add(session.id);
  else if (act === 'cancel') trial.cancel(session);
  else {
    tunnel?.count('connections', 1);
    tunnel?.count('bytes_in', at % 1_000);
  }
}

it('lose nothing and double nothing, whatever is lost on the way', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      trial = new Exchange();
      for (const one of steps) take(one as Step);
      trial.reports.followed();
      trial.settle();
      trial.expectAgreement();
      const open = trial.sessions.filter(({ isOpen, id }) => isOpen && trial.service.stopped.has(id));
      const taken = open.filter(({ accountId }) => accountId !== REFUSED_ACCOUNT);
      expect(taken.filter(({ id }) => !trial.stopped.has(id))).toEqual([]);
    }),
    { numRuns: 100, endOnFailure: true },
  );
});
