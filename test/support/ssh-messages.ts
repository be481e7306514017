/** Builds SSH messages from their fields (RFC 4251, 5). */
export const byte = (value: number): Buffer => Buffer.from([value]);
const flag = (value: boolean): Buffer => byte(value ? 1 : 0);
export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};
export const text = (value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
};
const message = (number: number, ...fields: readonly Buffer[]): Buffer => Buffer.concat([byte(number), ...fields]);

const KEY = Buffer.concat([text('ssh-ed25519'), text(Buffer.alloc(32, 7))]);
const request = (user: string, method: string, ...fields: readonly Buffer[]): Buffer =>
  message(50, text(user), text('ssh-connection'), text(method), ...fields);

/** Messages of RFC 4252. */
export const AUTHENTICATION = {
  none: (): Buffer => request('any', 'none'),
  password: (): Buffer => request('any', 'password', flag(false), text('secret')),
  passwordChange: (): Buffer => request('any', 'password', flag(true), text('old'), text('new')),
  keyQuery: (): Buffer => request('any', 'publickey', flag(false), text('ssh-ed25519'), text(KEY)),
  badSignature: (): Buffer =>
    request(
      'any',
      'publickey',
      flag(true),
      text('ssh-ed25519'),
      text(KEY),
      text(Buffer.concat([text('ssh-ed25519'), text(Buffer.alloc(64, 1))])),
    ),
  hostbased: (): Buffer =>
    request('any', 'hostbased', text('ssh-ed25519'), text(KEY), text('host'), text('user'), text(Buffer.alloc(80, 1))),
  keyboardInteractive: (): Buffer => request('any', 'keyboard-interactive', text(''), text('')),
  unknownMethod: (): Buffer => request('any', 'no-such-method', text('x')),
  otherService: (): Buffer => message(50, text('any'), text('no-such-service'), text('none')),
  failure: (): Buffer => message(51, text('publickey'), flag(false)),
  success: (): Buffer => message(52),
  banner: (): Buffer => message(53, text('hello'), text('')),
  keyOk: (): Buffer => message(60, text('ssh-ed25519'), text(KEY)),
  infoResponse: (): Buffer => message(61, uint32(1), text('answer')),
  infoResponseOfMany: (): Buffer => message(61, uint32(0xffffffff)),
};

/** Messages of RFC 4253. */
export const TRANSPORT = {
  disconnect: (): Buffer => message(1, uint32(11), text('bye'), text('')),
  ignore: (): Buffer => message(2, text('x')),
  unimplemented: (): Buffer => message(3, uint32(7)),
  debug: (): Buffer => message(4, flag(true), text('hello'), text('')),
  serviceRequest: (): Buffer => message(5, text('ssh-userauth')),
  serviceRequestOfConnection: (): Buffer => message(5, text('ssh-connection')),
  serviceAccept: (): Buffer => message(6, text('ssh-userauth')),
  extInfo: (): Buffer => message(7, uint32(1), text('server-sig-algs'), text('ssh-ed25519')),
  extInfoOfMany: (): Buffer => message(7, uint32(0xffffffff)),
  kexInit: (): Buffer =>
    message(
      20,
      Buffer.alloc(16, 3),
      ...[
        'curve25519-sha256',
        'ssh-ed25519',
        'aes128-ctr',
        'aes128-ctr',
        'hmac-sha2-256',
        'hmac-sha2-256',
        'none',
        'none',
        '',
        '',
      ].map((list) => text(list)),
      flag(false),
      uint32(0),
    ),
  newKeys: (): Buffer => message(21),
  kexEcdhInit: (): Buffer => message(30, text(Buffer.alloc(32, 9))),
  kexEcdhReply: (): Buffer => message(31, text(KEY), text(Buffer.alloc(32, 9)), text(Buffer.alloc(64, 1))),
  unknown: (): Buffer => message(150, text('x')),
  local: (): Buffer => message(200, text('x')),
  empty: (): Buffer => Buffer.alloc(0),
};

const globalRequest = (name: string, wantsReply: boolean, ...fields: readonly Buffer[]): Buffer =>
  message(80, text(name), flag(wantsReply), ...fields);
const channelRequest = (channel: number, name: string, wantsReply: boolean, ...fields: readonly Buffer[]): Buffer =>
  message(98, uint32(channel), text(name), flag(wantsReply), ...fields);
const open = (type: string, id: number, window = 2 ** 21, packet = 2 ** 15, ...fields: readonly Buffer[]): Buffer =>
  message(90, text(type), uint32(id), uint32(window), uint32(packet), ...fields);

export const bind = (address: string, port: number, wantsReply = true): Buffer =>
  globalRequest('tcpip-forward', wantsReply, text(address), uint32(port));
const cancelBind = (address: string, port: number, wantsReply = true): Buffer =>
  globalRequest('cancel-tcpip-forward', wantsReply, text(address), uint32(port));
export const openSession = (id = 0): Buffer => open('session', id);
export const confirmOpen = (channel: number, id: number, window = 2 ** 21, packet = 2 ** 15): Buffer =>
  message(91, uint32(channel), uint32(id), uint32(window), uint32(packet));
export const data = (channel: number, bytes: Buffer): Buffer => message(94, uint32(channel), text(bytes));
export const dataAndMore = (channel: number, bytes: Buffer, more: Buffer): Buffer =>
  Buffer.concat([data(channel, bytes), more]);
export const hostKeys = (key: string): Buffer => globalRequest('hostkeys-00@openssh.com', false, text(key));
export const windowAdjust = (channel: number, bytes: number): Buffer => message(93, uint32(channel), uint32(bytes));
export const eof = (channel: number): Buffer => message(96, uint32(channel));
export const close = (channel: number): Buffer => message(97, uint32(channel));
export const shell = (channel: number, wantsReply = true): Buffer => channelRequest(channel, 'shell', wantsReply);

const TYPED = [
  ['pty-req', text('vt100'), uint32(80), uint32(24), uint32(0), uint32(0), text(byte(0))],
  ['x11-req', flag(false), text('MIT-MAGIC-COOKIE-1'), text('00'), uint32(0)],
  ['env', text('LANG'), text('C')],
  ['shell'],
  ['exec', text('id')],
  ['subsystem', text('sftp')],
  ['window-change', uint32(80), uint32(24), uint32(0), uint32(0)],
  ['xon-xoff', flag(true)],
  ['signal', text('KILL')],
  ['exit-status', uint32(0)],
  ['exit-signal', text('KILL'), flag(false), text(''), text('')],
  ['auth-agent-req@openssh.com'],
  ['no-such-request', text('x')],
] as const;

/** Messages of RFC 4254. */
export const CONNECTION: Readonly<Record<string, () => Buffer>> = {
  ...Object.fromEntries(
    [true, false].flatMap((wantsReply) => {
      const suffix = wantsReply ? 'WithReply' : 'WithoutReply';
      return [
        [`bind${suffix}`, () => bind('team=blue', 0, wantsReply)],
        [`bindOfEmptyAddress${suffix}`, () => bind('', 80, wantsReply)],
        [`cancelBind${suffix}`, () => cancelBind('team=blue', 1, wantsReply)],
        [`streamlocal${suffix}`, () => globalRequest('streamlocal-forward@openssh.com', wantsReply, text('/tmp/x'))],
        [`noMoreSessions${suffix}`, () => globalRequest('no-more-sessions@openssh.com', wantsReply)],
        [`hostkeys${suffix}`, () => globalRequest('hostkeys-00@openssh.com', wantsReply, text(KEY), text(KEY))],
        [`unknownGlobalRequest${suffix}`, () => globalRequest('no-such-request', wantsReply, text('x'))],
        ...TYPED.map(([name, ...fields]) => [
          `${name}${suffix}`,
          () => channelRequest(0, name, wantsReply, ...(fields as readonly Buffer[])),
        ]),
      ] as [string, () => Buffer][];
    }),
  ),
  requestSuccess: () => message(81),
  requestFailure: () => message(82),
  openSession: () => openSession(),
  openSessionOfNoPackets: () => open('session', 0, 2 ** 21, 0),
  openSessionOfNoWindow: () => open('session', 0, 0),
  openDirect: () => open('direct-tcpip', 0, 2 ** 21, 2 ** 15, text('localhost'), uint32(80), text('::1'), uint32(9)),
  openForwarded: () =>
    open('forwarded-tcpip', 0, 2 ** 21, 2 ** 15, text('localhost'), uint32(80), text('::1'), uint32(9)),
  openX11: () => open('x11', 0, 2 ** 21, 2 ** 15, text('::1'), uint32(9)),
  openDirectSocket: () => open('direct-streamlocal@openssh.com', 0, 2 ** 21, 2 ** 15, text('/x'), text(''), uint32(0)),
  openUnknown: () => open('no-such-channel', 0),
  confirmOpen: () => confirmOpen(0, 0),
  refuseOpen: () => message(92, uint32(0), uint32(1), text('no'), text('')),
  windowAdjust: () => windowAdjust(0, 1),
  windowAdjustOfMuch: () => windowAdjust(0, 0xffffffff),
  data: () => data(0, Buffer.from('x')),
  extendedData: () => message(95, uint32(0), uint32(1), text('x')),
  eof: () => eof(0),
  close: () => close(0),
  channelSuccess: () => message(99, uint32(0)),
  channelFailure: () => message(100, uint32(0)),
};
