# shellcheck shell=bash
# deploy/bench crashes. Sourced by deploy/bench.

settings() {
    need_packages wrk
    # What is measured is the taking, not the limit of an app.
    export MARTLET_ANALYTICS_CRASHES_QUOTA_ERRORS=100000000 MARTLET_ANALYTICS_CRASHES_SPOOL_MEGABYTES=16384
}

run_crashes() {
    local round rates=() line before after start
    INGEST=$(jq -r .ingestKey "$connection")
    export INGEST
    printf '\n%s cores, %s rounds of %s s, 32 connections: envelopes of 11 kB through the gateway\n\n' "$(nproc)" "$rounds" "$seconds"
    start=$(date +%s.%N)
    for ((round = 0; round < rounds; round++)); do
        before=$(cpu_ticks analytics)
        line=$(wrk -t1 -c32 -d"${seconds}s" --latency -s "$here/bench.d/crashes.lua" "$url" | grep RESULT)
        after=$(cpu_ticks analytics)
        rates+=("$(gawk '{ printf "%.0f", $2 / $3 }' <<<"$line")")
        gawk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" \
            '{ printf "accepted %6.0f per s, p50 %.1f ms, p99 %.1f ms, analytics %.0f µs CPU each (with digesting meanwhile), %d refused, %d broken off\n", $2 / $3, $6 / 1000, $7 / 1000, ticks / hz * 1e6 / $2, $4, $5 }' <<<"$line"
    done
    printf '\ncrash envelopes accepted per s (aim 1,500), median   %s\n' "$(median "${rates[@]}")"
    wait_for_digest "$start"
}

# How long until all that was accepted is grouped and stored.
wait_for_digest() {
    local stored=0 last=-1
    while stored=$(psql -XAtq "$database" -c 'SELECT count(*) FROM analytics.crash_events'); [[ $stored != "$last" ]]; do
        last=$stored
        sleep 3
    done
    gawk -v n="$stored" -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "grouped and stored   %d reports, %.0f per s from the first to the last\n", n, n / (b - a - 3) }'
    psql -XAtq "$database" -c "SELECT 'issues ' || count(*) || ', counted events ' || sum(events) FROM analytics.issues"
}
