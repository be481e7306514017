# The machine that docs/operating.md and docs/monitoring.md start from: a name, a certificate and a PostgreSQL. Run by machine.sh.
echo 127.0.0.1 localhost tunnels.example.com > /etc/hosts
export CURL_CA_BUNDLE=/etc/ssl/private/tunnels.example.com.pem
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=tunnels.example.com -days 1 \
  -addext subjectAltName=DNS:tunnels.example.com -keyout "$SCRATCH/key" -out "$SCRATCH/certificate" 2> /dev/null
cat "$SCRATCH/certificate" "$SCRATCH/key" > "$CURL_CA_BUNDLE"
cp "$SCRATCH/certificate" /etc/ssl/tunnels.pem
export NODE_EXTRA_CA_CERTS=/etc/ssl/tunnels.pem

rm -rf /etc/postgresql
install -d -o postgres -g postgres /etc/postgresql /var/lib/postgresql /var/log/postgresql
install -d -m 2775 -o postgres -g postgres /run/postgresql
for FOLDER in /var/lib/pgbackrest /var/spool/pgbackrest; do mount -t tmpfs -o mode=750,uid="$(id -u postgres)" tmpfs "$FOLDER"; done
install -d -o postgres -g postgres /var/log/pgbackrest
export PGBACKREST_LOCK_PATH=/run/postgresql/pgbackrest
pg_createcluster "$(ls /usr/lib/postgresql | sort -n | tail -1)" main --start > /dev/null

# What the packages of fail2ban and rsyslog make.
mount -t tmpfs tmpfs /var/lib/fail2ban
install -d /run/fail2ban
touch /var/log/auth.log

# These namespaces have no systemd. A unit runs as its file says. haproxy and Prometheus have only the units of Debian.
systemctl() {
  case "$1 ${2:-}" in
    'daemon-reload ') ;;
    'restart haproxy') haproxy -D -f /etc/haproxy/haproxy.cfg ;;
    'start postgresql' | 'stop postgresql' | 'restart postgresql') pg_ctlcluster "$(ls /usr/lib/postgresql | sort -n | tail -1)" main "$1" ;;
    'restart prometheus') start_prometheus ;;
    'restart fail2ban') fail2ban-server -b > /dev/null ;;
    'enable --now') for UNIT in "${@:3}"; do start_unit "$UNIT"; done ;;
    'start '*) for UNIT in "${@:2}"; do start_unit "$UNIT"; done ;;
    'stop '*) for UNIT in "${@:2}"; do stop_unit "$UNIT"; done ;;
    'restart '*) stop_unit "$2" && start_unit "$2" ;;
    *) echo "operator.sh does not know systemctl $*" >&2 && return 1 ;;
  esac
}
unit_file() { case "$1" in *@*) echo "${1%@*}@.service" ;; *) echo "$1.service" ;; esac; }
unit_value() { sed -n "s/^$2=//p" "/etc/systemd/system/$(unit_file "$1")" | sed "s/%i/${1#*@}/g"; }
start_unit() {
  (
    cd "$(unit_value "$1" WorkingDirectory)"
    set -a
    . "$(unit_value "$1" EnvironmentFile)"
    export $(unit_value "$1" Environment)
    USER_OF_UNIT=$(unit_value "$1" User)
    limit_files "$(unit_value "$1" LimitNOFILE)"
    exec setpriv --reuid "$USER_OF_UNIT" --regid "$USER_OF_UNIT" --init-groups -- $(unit_value "$1" ExecStart)
  ) > "/var/log/$1" 2>&1 &
  echo $! > "/run/$1"
}
# A container may not raise its hard limit.
limit_files() { [ -z "$1" ] || ulimit -n "$1" 2> /dev/null || ulimit -n "$(ulimit -Hn)"; }
stop_unit() {
  kill "$(cat "/run/$1")"
  while kill -0 "$(cat "/run/$1")" 2> /dev/null; do sleep 0.1; done
}
# As the document says, but each second: a test need not wait for the interval.
start_prometheus() {
  install -d -o prometheus /run/prometheus
  sed -i 's/scrape_interval: 15s/scrape_interval: 1s/' /etc/prometheus/prometheus.yml
  setpriv --reuid prometheus --regid prometheus --init-groups -- prometheus --config.file=/etc/prometheus/prometheus.yml \
    --storage.tsdb.path=/run/prometheus --web.listen-address=127.0.0.1:9090 > /var/log/prometheus.log 2>&1 &
}
export -f systemctl start_prometheus unit_file unit_value limit_files start_unit stop_unit
