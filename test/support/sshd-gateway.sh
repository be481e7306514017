# Run by sshd-gateway.ts in new mount and process namespaces: all changes here end with them.
# The machine's /etc does not change; this /etc is a copy in memory. The commands that set the gateway up come on stdin.
set -euo pipefail

mount -t tmpfs -o mode=755 tmpfs "$SCRATCH"
mkdir "$SCRATCH/etc"
cp -a /etc/. "$SCRATCH/etc"
mount --bind "$SCRATCH/etc" /etc
mount -t tmpfs -o mode=755 tmpfs /run
# useradd writes to it.
mount -t tmpfs -o mode=755 tmpfs /var/log

printf '%s\n' "$HOSTS" >> /etc/hosts
eval "$(cat)"

# Starts a journal of its own, which needs /dev/log. Its new lines go to stdout.
if [ "$JOURNAL" = true ]; then
  mkdir -p "$SCRATCH"/dev/pts
  cp -a /dev/{null,zero,full,random,urandom,tty} "$SCRATCH/dev/"
  ln -s /run/systemd/journal/dev-log "$SCRATCH/dev/log"
  mount --bind /dev/pts "$SCRATCH/dev/pts"
  mount --rbind "$SCRATCH/dev" /dev
  /usr/lib/systemd/systemd-journald &
  until [ -S /dev/log ]; do sleep 0.05; done
  journalctl --follow --no-tail --output=cat &
  exec /usr/sbin/sshd -D -f /etc/ssh/tunnel-gateway/sshd_config -o "ListenAddress=127.0.0.1:$GATEWAY_PORT" < /dev/null
fi

exec /usr/sbin/sshd -D -e -f /etc/ssh/tunnel-gateway/sshd_config -o "ListenAddress=127.0.0.1:$GATEWAY_PORT" < /dev/null
