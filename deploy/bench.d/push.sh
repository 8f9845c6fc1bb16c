# shellcheck shell=bash
# deploy/bench push. Sourced by deploy/bench.

# Debian's nghttpd answers 200 to every message; it has the other core.
run_push() {
    need_packages nghttp2-server openssl
    local device port
    device=$(printf '00fc13adff785122%.0s' 1 2 3 4)
    port=$(free_port)
    rm -rf "$state"
    mkdir -p "$state/root/3/device"
    : >"$state/root/3/device/$device"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=push -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$state/key.pem" -out "$state/cert.pem" 2>/dev/null
    nghttpd --max-concurrent-streams=1000 -d "$state/root" "$port" "$state/key.pem" "$state/cert.pem" >/dev/null 2>&1 &
    sink=$!
    trap 'kill "$sink" 2>/dev/null || true; rm -rf "$state"' EXIT
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.1; done
    local round
    for ((round = 0; round < rounds; round++)); do
        "$1" 127.0.0.1 "$port" "$state/cert.pem" "${BENCH_MESSAGES:-100000}"
    done
}
