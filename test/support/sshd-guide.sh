# What docs/sshd-gateway.md starts from: names, a service, and a page on port 3000 of the user's machine. Run by machine.sh.
cat > /etc/hosts <<END
127.0.0.1 localhost gateway.example.com
127.0.1.2 app.example.com
END
# ssh reads known_hosts in this folder.
mount -t tmpfs -o mode=700 tmpfs ~
mkdir -m 700 ~/.ssh

export SERVICE=http://127.0.0.1:8080 TOKEN=a-token-for-the-test-gateway API_KEY=an-api-key-for-the-test
install -d -m 711 "$SCRATCH/data"
DATA_DIR=$SCRATCH/data GATEWAY_TOKENS=$TOKEN BOOTSTRAP_API_KEY=$API_KEY node dist/src/main.js > /var/log/service 2>&1 &
curl -s --retry 60 --retry-connrefused --retry-delay 1 "$SERVICE/openapi.json" -o /dev/null

node -e "require('http').createServer((_, answer) => answer.end('through the tunnel')).listen(3000, '127.0.0.1')" &
