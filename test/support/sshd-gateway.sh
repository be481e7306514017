# Run by sshd-gateway.ts in new mount and process namespaces: all changes here end with them.
# The machine's /etc does not change; this /etc is a copy in memory. The commands that set the gateway up come on stdin.
set -euo pipefail

mount -t tmpfs -o mode=755 tmpfs "$SCRATCH"
mkdir "$SCRATCH/etc"
cp -a /etc/. "$SCRATCH/etc"
mount --bind "$SCRATCH/etc" /etc
mount -t tmpfs -o mode=755 tmpfs /run
# useradd writes there.
mount -t tmpfs -o mode=755 tmpfs /var/log

printf '%s\n' "$HOSTS" >> /etc/hosts
eval "$(cat)"

exec /usr/sbin/sshd -D -e -f /etc/ssh/tunnel-gateway/sshd_config -o "ListenAddress=127.0.0.1:$GATEWAY_PORT" < /dev/null
