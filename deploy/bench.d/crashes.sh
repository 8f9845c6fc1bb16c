# shellcheck shell=bash
# deploy/bench crashes. Sourced by deploy/bench.

settings() {
    need_packages wrk
    # The rate of accepting is measured, not the app's quota.
    export MARTLET_ANALYTICS_CRASHES_QUOTA_ERRORS=100000000 MARTLET_ANALYTICS_CRASHES_SPOOL_MEGABYTES=16384
}

run_crashes() {
    local round rates=() line before after start accepted=0
    INGEST=$(jq -r .ingestKey "$connection")
    export INGEST
    printf '\n%s cores, %s rounds of %s s, 32 connections: envelopes of 11 kB through the gateway\n\n' "$(nproc)" "$rounds" "$seconds"
    start=$(date +%s.%N)
    for ((round = 0; round < rounds; round++)); do
        before=$(cpu_ticks analytics)
        line=$(wrk -t1 -c32 -d"${seconds}s" --latency -s "$here/bench.d/crashes.lua" "$url" | grep RESULT)
        after=$(cpu_ticks analytics)
        rates+=("$(gawk '{ printf "%.0f", $2 / $3 }' <<<"$line")")
        accepted=$((accepted + $(gawk '{ print $2 - $4 }' <<<"$line")))
        gawk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" \
            '{ printf "accepted %6.0f per s, p50 %.1f ms, p99 %.1f ms, analytics %.0f µs CPU each (with digesting meanwhile), %d refused, %d broken off\n", $2 / $3, $6 / 1000, $7 / 1000, ticks / hz * 1e6 / $2, $4, $5 }' <<<"$line"
    done
    printf '\ncrash envelopes accepted per s (aim 1,500), median   %s\n' "$(median "${rates[@]}")"
    wait_for_digest "$start" "$accepted"
}

# Measures how fast accepted reports are grouped and stored: counts every second until all are stored or BENCH_DIGEST_SECONDS (120) are over.
wait_for_digest() {
    local stored=0 accepted=$2 limit=${BENCH_DIGEST_SECONDS:-120} end cpu=0 from
    end=$((SECONDS + limit)) from=$(cpu_ticks analytics)
    local first=-1 since
    since=$(date +%s.%N)
    while stored=$(stored_reports); do
        ((first < 0)) && first=$stored
        ((stored >= accepted || SECONDS >= end)) && break
        sleep 1
    done
    cpu=$(($(cpu_ticks analytics) - from))
    gawk -v n="$stored" -v f="$first" -v all="$accepted" -v a="$1" -v s="$since" -v b="$(date +%s.%N)" -v ticks="$cpu" -v hz="$(getconf CLK_TCK)" 'BEGIN {
        printf "grouped and stored   %d of %d reports, %.0f per s since the first was sent", n, all, n / (b - a)
        if (n > f) printf "; %.0f per s with nothing else to do, %.0f µs CPU each", (n - f) / (b - s), ticks / hz * 1e6 / (n - f)
        printf "%s\n", n < all ? " (not waited for longer)" : "" }'
    psql -XAtq "$database" -c "SELECT 'issues ' || count(*) || ', counted events ' || sum(events) FROM analytics.issues"
}

stored_reports() { psql -XAtq "$database" -c 'SELECT count(*) FROM analytics.crash_events'; }
