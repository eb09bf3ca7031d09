# Heroku runs this before each process. The Redis add-on renews its own certificates, which nobody has
# signed, and its REDIS_URL at any time. Its hosts are numbered machines of EC2; the addresses of other
# providers are left as they are.
if [ -n "${DYNO:-}" ] && [[ "${REDIS_URL:-}" =~ ^rediss://[^?]*@ec2-[^?/]*\.amazonaws\.com:[0-9]+(/[0-9]*)?$ ]]; then
    export REDIS_URL="$REDIS_URL?ssl_cert_reqs=none"
fi
