import { describe, expect, it } from '@jest/globals';
import { readFrpClient } from './frp-client.js';
import { Left } from './left.js';

const SECRET = 'secret-token';
const TOML = `serverAddr = "frp.example.com"
auth.token = "${SECRET}"
[[proxies]]
name = "ssh"
type = "tcp"
localIP = "10.0.0.2"
localPort = 22
remotePort = 6000
transport.useEncryption = true
metadatas.password = "${SECRET}"
`;
const JSON_TEXT = JSON.stringify({
  auth: { token: SECRET },
  proxies: [{ name: 'ssh', type: 'tcp', localIP: '10.0.0.2', localPort: 22, remotePort: 6000 }],
});
const YAML = `auth: {token: ${SECRET}}\nproxies:\n- name: ssh\n  type: tcp\n  localIP: 10.0.0.2\n  localPort: 22\n  remotePort: 6000\n`;

const readAll = (file: string, text: string) =>
  readFrpClient(file, text).map(({ line, read }) => {
    try {
      return read();
    } catch (error) {
      if (error instanceof Left) return [line, error.message] as const;
      throw error;
    }
  });

/** What of the only proxy of a file. */
function only(file: string, text: string) {
  const [proxy, ...others] = readAll(file, text);
  expect(others).toEqual([]);
  return proxy;
}

describe('a TCP proxy of frpc', () => {
  it.each([
    ['frpc.toml', TOML],
    ['frpc.json', JSON_TEXT],
    ['frpc.yaml', YAML],
  ])('is read from %s', (file, text) => {
    expect(only(file, text)).toEqual({ name: 'ssh', label: 'ssh', local: '10.0.0.2:22', remotePort: 6000 });
  });

  it('has the user of its client before its name, as the server of frp has it', () => {
    expect(only('frpc.toml', `user = "ada"\n${TOML}`)).toMatchObject({ label: 'ada.ssh' });
  });

  it.each([
    ['type = "tcp"', 'type = "http"', 'of the type http'],
    ['type = "tcp"', '', 'of the type'],
    ['name = "ssh"', 'name = "*"', 'other characters'],
    ['name = "ssh"', 'name = "../ssh"', 'other characters'],
    ['name = "ssh"', 'name = "a b"', 'other characters'],
    ['remotePort = 6000', 'remotePort = 0', 'no fixed remotePort'],
    ['remotePort = 6000', '', 'no fixed remotePort'],
    ['remotePort = 6000', 'remotePort = "6000"', 'no fixed remotePort'],
    ['remotePort = 6000', 'remotePort = 70000', 'no fixed remotePort'],
    ['localPort = 22', '', 'no address'],
    ['10.0.0.2', '$(id)', 'no address'],
    ['transport.useEncryption', 'transport.bandwidthLimit', 'transport.bandwidthLimit'],
    ['transport.useEncryption = true', 'plugin.type = "socks5"', 'plugin'],
    ['transport.useEncryption = true', 'loadBalancer.group = "g"', 'loadBalancer'],
    ['transport.useEncryption = true', 'enabled = false', 'does not start'],
    ['serverAddr', 'start = ["web"]\nserverAddr', 'does not start'],
    ['serverAddr', 'Start = ["web"]\nserverAddr', 'does not start'],
    ['metadatas.password = ', `${SECRET} = `, 'its setting ? has'],
    ['localIP = "10.0.0.2"', 'localIP = "-oProxyCommand"', 'no address'],
    ['type = "tcp"', `type = "${SECRET}"`, 'of the type ?'],
    ['serverAddr = "frp.example.com"', '[common]\ntoken = frp', 'since frp 0.52'],
    ['serverAddr = ', 'serverAddr ', 'cannot be read'],
    ['"frp.example.com"', '"{{ .Envs.SERVER }}"', 'template'],
    ['[[proxies]]', '[[', 'cannot be read'],
    ['[[proxies]]', '[[others]]', 'no proxies'],
  ])('with %s as %s is left, without a secret in the reason', (from, to, reason) => {
    const [line, message] = only('frpc.toml', TOML.replace(from, to)) as readonly [number, string];
    expect(message).toContain(reason);
    expect(message).not.toContain(SECRET);
    expect(line).toBeGreaterThan(0);
  });

  it('is found by the line of its name; includes and visitors are said', () => {
    const two = TOML + TOML.slice(TOML.indexOf('[[')).replace('"ssh"', '"ss"');
    expect(readFrpClient('frpc.toml', two).map(({ line }) => line)).toEqual([4, 12]);
    const text = `includes = ["./*.toml"]\n${TOML}[[visitors]]\nname = "v"\n`;
    expect(readFrpClient('frpc.toml', text).map(({ line }) => line)).toEqual([1, 12, 5]);
    expect(readAll('frpc.toml', text).map((one) => 'label' in one)).toEqual([false, false, true]);
  });
});
