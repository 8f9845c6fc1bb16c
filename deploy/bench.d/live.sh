# shellcheck shell=bash
# deploy/bench live. Sourced by deploy/bench.

subscribers=${BENCH_SUBSCRIBERS:-2000}
ruled=${BENCH_RULED:-200}
((ruled <= subscribers)) || ruled=$subscribers

settings() {
    # All streams come from one address, which by default may have 128 on each event loop and 1,024 connections. Each is a socket here and two in the gateway.
    export MARTLET_GATEWAY_LIMIT_ADDRESS_STREAMS=$subscribers MARTLET_GATEWAY_LIMIT_KEY_STREAMS=$subscribers
    export MARTLET_GATEWAY_LIMIT_ADDRESS_CONNECTIONS=$((subscribers + 100))
    ulimit -n $((subscribers * 3 + 1000))
}

run_live() {
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" -d '{"_id":"first"}' "$url/api/$KEY/storage/Live"
    printf '\n%s cores for the server and the subscribers together, %s subscribers through the gateway\n\n' "$(nproc)" "$subscribers"
    python3 "$here/bench.d/live.py" "$url" "$subscribers" "$ruled" "${BENCH_EVENTS:-150}" \
        "gateway=$(pid_of gateway)" "storage=$(pid_of storage)" "postgres=$(pid_of postgres)"
}
