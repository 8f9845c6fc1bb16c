# shellcheck shell=bash
# deploy/bench push. Sourced by deploy/bench.

# Debian's nghttpd answers 200 to every message and stands for APNs' production; the simulator, which counts what arrives, for its sandbox.
settings() {
    need_packages nghttp2-server openssl iproute2
    count=${BENCH_MESSAGES:-100000}
    [[ -n ${BENCH_PROGRAMS:-} ]] || swift build --package-path "$root" --product pushbench "${release_options[@]}" >&2
    sink_port=$(free_port)
    mkdir -p "$state/root/3/device" "$state/simulator"
    # nghttpd answers 200 for files that exist: one for the token to which the client alone sends, and one for each device's
    # token.
    touch "$state/root/3/device/$(printf '00fc13adff785122%.0s' 1 2 3 4)"
    (cd "$state/root/3/device" && gawk -v n="$count" 'BEGIN { for (i = 1; i <= n; i++) printf "%064x\n", i }' | xargs -n 1000 touch)
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=push -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$state/key.pem" -out "$state/cert.pem" 2>/dev/null
    nghttpd --max-concurrent-streams=1000 -d "$state/root" "$sink_port" "$state/key.pem" "$state/cert.pem" >/dev/null 2>&1 &
    sink=$!
    "$release/pushbench" simulator "$state/simulator" &
    simulator=$!
    trap 'kill "$sink" "$simulator" 2>/dev/null || true; remove_server' EXIT
    local tenths
    for ((tenths = 0; tenths < 300; tenths++)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$sink_port") 2>/dev/null && [[ -s $state/simulator/port ]] && break
        sleep 0.1
    done
    ((tenths < 300)) || die "nghttpd or pushbench did not start"
    cat "$state/cert.pem" "$state/simulator/certificate.pem" >"$state/trusted.pem"
    export MARTLET_PUSH_APNS_PRODUCTION=127.0.0.1:$sink_port MARTLET_PUSH_APNS_CERTIFICATES=$state/trusted.pem MARTLET_PUSH_LEASE=3
    MARTLET_PUSH_APNS_SANDBOX=127.0.0.1:$(cat "$state/simulator/port")
    export MARTLET_PUSH_APNS_SANDBOX
}

run_push() {
    local round
    printf '\n%s cores\n\nthe client alone, to nghttpd\n' "$(nproc)"
    for ((round = 0; round < rounds; round++)); do
        "$release/pushbench" 127.0.0.1 "$sink_port" "$state/cert.pem" "$count"
    done
    curl -sf -o /dev/null -X PUT -H "X-Martlet-Secret: $SECRET" -H "X-Martlet-Master-Key: $MASTER" --data-binary "@$state/simulator/credential.json" \
        "$url/api/$KEY/notifications/credentials/apns" || die "the server refused the credential"
    psql -q "$database" <<SQL
INSERT INTO notifications.installations (space, id, secret_digest, platform, service, is_sandbox, token, token_registered, locale)
SELECT s.id, gen_random_uuid(), '\\x00', 'ios', 'apns', b.is_sandbox, lpad(to_hex(n + CASE WHEN b.is_sandbox THEN $count ELSE 0 END), 64, '0'), now(), 'en'
FROM notifications.spaces AS s, generate_series(1, $count) AS n, (VALUES (FALSE), (TRUE)) AS b (is_sandbox);
ANALYZE notifications.installations;
SQL
    printf '\nthe service with queue and results, to nghttpd (must: 5,000 per second of its CPU)\n'
    for ((round = 0; round < rounds; round++)); do send_all; done
    DATABASE=$database python3 "$here/bench.d/push.py" "$state" "$release" "$count" "${BENCH_KILLS:-30}" "${BENCH_KILL_SECONDS:-0.5}"
}

# Sends one message to every device of the production environment, and prints how long that took.
send_all() {
    local -A from to
    local name start message connections=0 now
    message=$(psql -qAt -v ON_ERROR_STOP=1 "$database" -c "$(order FALSE '{"title":"Your bicycle was seen","body":"Somebody saw it near the station, 4 minutes ago.","sound":"default"}')")
    for name in notifications postgres; do from[$name]=$(cpu_ticks "$name"); done
    start=${EPOCHREALTIME/./}
    psql -q "$database" -c "UPDATE notifications.messages SET is_paused = FALSE WHERE id = '$message'" -c "NOTIFY notifications_deliveries"
    while [[ $(psql -qAt "$database" -c "SELECT is_settled FROM notifications.messages WHERE id = '$message'") != t ]]; do
        now=$(ss -Htn state established "dport = :$sink_port" | wc -l)
        ((now > connections)) && connections=$now
        ((${EPOCHREALTIME/./} - start < 600000000)) || die "not sent within 600 s"
        sleep 0.1
    done
    local us=$((${EPOCHREALTIME/./} - start))
    for name in notifications postgres; do to[$name]=$(cpu_ticks "$name"); done
    gawk -v n="$count" -v us="$us" -v hz="$(getconf CLK_TCK)" -v a="$((to[notifications] - from[notifications]))" -v b="$((to[postgres] - from[postgres]))" \
        -v c="$connections" -v m="$(gawk '/^VmHWM/ { print $2 / 1024 }' "/proc/$(pid_of notifications)/status")" \
        'BEGIN { printf "%d deliveries/s, %d per second of CPU (%d µs each; PostgreSQL %d µs), %d connections, at most %d MB\n", n / us * 1e6, n / (a / hz), a / hz / n * 1e6, b / hz / n * 1e6, c, m }'
    psql -qAt "$database" -c "SELECT format('%s %s', count(*), state || coalesce(' ' || reason, '')) FROM notifications.deliveries WHERE message = '$message' GROUP BY state, reason"
}

# order SANDBOX CONTENT: prints the statement that queues a paused message for all devices of the sandbox (TRUE) or of production
# (FALSE).
order() {
    cat <<SQL
WITH made AS (
    INSERT INTO notifications.messages (id, space, author, content, audience, state, is_paused, is_planned, planned, expires)
    SELECT gen_random_uuid(), s.id, 'service', '$2', '{}', 'sending', TRUE, TRUE, $count, now() + interval '1 hour' FROM notifications.spaces AS s LIMIT 1
    RETURNING id, space), queued AS (
    INSERT INTO notifications.deliveries (message, installation, space, service)
    SELECT made.id, i.id, i.space, i.service FROM made JOIN notifications.installations AS i ON i.space = made.space AND i.is_sandbox = $1)
SELECT id FROM made
SQL
}
