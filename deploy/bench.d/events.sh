# shellcheck shell=bash
# deploy/bench events. Sourced by deploy/bench.

settings() { need_packages wrk; }

# Compares durable ingest through the gateway with COPY alone, and single events with creating objects, and measures the bytes of an event. Then come the
# kills; with BENCH_ROUNDS=0 only the kills.
run_events() {
    local rounds=${BENCH_ROUNDS:-3} round batches=() tracks=() creates=() copies=()
    INGEST=$(printf '%s:' "$(jq -r .ingestKey "$connection")" | base64 -w0)
    export INGEST
    for ((tenths = 0; tenths < 100; tenths++)); do
        [[ $(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Basic $INGEST" -d '{"batch":[]}' "$url/segment/v1/batch") == 200 ]] && break
        sleep 0.1
    done
    ((rounds == 0)) || measure_ingest
    kill_drill "${BENCH_KILLS:-20}"
}

measure_ingest() {
    psql -q "$database" <<'SQL'
CREATE TABLE analytics.bench_events (LIKE analytics.events);
CREATE UNIQUE INDEX ON analytics.bench_events (key);
CREATE INDEX ON analytics.bench_events USING brin (received) WITH (pages_per_range = 32);
SQL
    gawk 'BEGIN {
        for (t = 0; t < 400; t++) {
            print "COPY analytics.bench_events FROM stdin;"
            for (i = 0; i < 500; i++)
                printf "now\tnow\t%d\t%.0f\t1\t%d\t1\t1\t1\t1\t1\t1\t1\t{\"button\": \"buy\", \"price\": 4.99, \"item\": \"ab-%d\"}\n",
                    i % 5000, (rand() - 0.5) * 1.8e19, i % 20, i % 1000
            print "\\."
        }
    }' >"$state/copy.sql"

    printf '\n%s cores, %s rounds of %s s, medians\n\n%-44s %9s %9s %12s %12s %12s\n' "$(nproc)" "$rounds" "$seconds" "" "per s" "p99 ms" "gateway µs" "analytics µs" "postgres µs"
    for ((round = 0; round < rounds; round++)); do
        copy && copies+=("$rate")
        measure batch "requests of 50 events" 8 && batches+=("$(gawk -v r="$rate" 'BEGIN { print r * 50 }')")
        measure track "requests of one event" 32 && tracks+=("$rate")
        measure create "objects created" 32 && creates+=("$rate")
    done
    local batch copy track create
    batch=$(median "${batches[@]}") copy=$(median "${copies[@]}") track=$(median "${tracks[@]}") create=$(median "${creates[@]}")
    printf '\nevents in batches of 50 (must: 20,000, or 0.10 of COPY)   %d : %d = %s\n' "$batch" "$copy" "$(gawk -v a="$batch" -v b="$copy" 'BEGIN { printf "%.2f", a / b }')"
    printf 'single events : objects created (must: 0.50)              %d : %d = %s\n' "$track" "$create" "$(gawk -v a="$track" -v b="$create" 'BEGIN { printf "%.2f", a / b }')"
    psql -qAt "$database" <<'SQL'
SELECT format('bytes of an event with indexes (must: 220)                %s of %s events',
    round(sum(pg_total_relation_size(i.inhrelid)) / (SELECT count(*) FROM analytics.events)), (SELECT count(*) FROM analytics.events))
FROM pg_inherits AS i WHERE i.inhparent = 'analytics.events'::regclass;
SQL
}

# copy: 200,000 rows in transactions of 500 by one connection; the rate in $rate.
copy() {
    psql -q -c 'TRUNCATE analytics.bench_events' -c CHECKPOINT "$database"
    local start=${EPOCHREALTIME/./}
    psql -q -f "$state/copy.sql" "$database"
    rate=$(gawk -v us="$((${EPOCHREALTIME/./} - start))" 'BEGIN { printf "%.0f", 200000 / us * 1e6 }')
    printf '%-44s %9s\n' "COPY, 500 rows a transaction" "$rate"
}

# measure MODE NAME CONNECTIONS: a line of the table; the rate also in $rate.
measure() {
    local -A from to
    local line name
    for name in gateway analytics postgres; do from[$name]=$(cpu_ticks "$name"); done
    line=$(MODE=$1 wrk -t1 -c"$3" -d"${seconds}s" -s "$here/bench.d/events.lua" "$url" | grep RESULT)
    for name in gateway analytics postgres; do to[$name]=$(cpu_ticks "$name"); done
    rate=$(gawk '{ printf "%.0f", $2 / $3 }' <<<"$line")
    printf '%-44s %9s %9s' "$2" "$rate" "$(gawk '{ print $6 }' <<<"$line")"
    for name in gateway analytics postgres; do
        gawk -v a="${to[$name]}" -v b="${from[$name]}" -v hz="$(getconf CLK_TCK)" '{ printf " %12.0f", (a - b) / hz * 1e6 / $2 }' <<<"$line"
    done
    gawk '$4 + $5 > 0 { printf "   %d refused, %d broken off", $4, $5 } END { printf "\n" }' <<<"$line"
}

# kill_drill N: kills analytics and PostgreSQL in turn, N times, while clients send. Every acknowledged event must be stored once. After each kill it waits,
# at most a minute, until an event is acknowledged again, so that every kill hits a working server: some 2 s each.
kill_drill() {
    local wanted=$1 kills=0 longest=0 number name pid drill start tenths
    : >"$state/acknowledged"
    python3 "$here/bench.d/events.py" "$url" "$(jq -r .ingestKey "$connection")" "$state/acknowledged" >"$state/drill.log" 2>&1 &
    drill=$!
    for ((number = 0; number < wanted; number++)); do
        more_acknowledged 0 || break
        # Kill at varying moments of a batch.
        sleep "0.$((RANDOM % 9))"
        name=analytics
        ((number % 2)) && name=postgres
        pid=$(pid_of "$name") && kill -9 "$pid" || continue
        kills=$((kills + 1)) start=$SECONDS
        # Events that were under way may still be acknowledged; new ones must be acknowledged by the next process.
        for ((tenths = 0; tenths < 300; tenths++)); do [[ $(pid_of "$name" 2>/dev/null) != "$pid" ]] && break; sleep 0.1; done
        more_acknowledged 500 || break
        ((SECONDS - start > longest)) && longest=$((SECONDS - start))
    done
    sleep 1
    kill -TERM "$drill"
    wait "$drill" || true
    for ((tenths = 0; tenths < 300; tenths++)); do psql -qAt -c 'SELECT 1' "$database" >/dev/null 2>&1 && break; sleep 0.1; done
    sort -u "$state/acknowledged" >"$state/expected"
    psql -qAt -c "SELECT properties ->> 'drill' FROM analytics.events WHERE properties ? 'drill'" "$database" | sort >"$state/stored"
    printf '\n%s of %s kills, at most %s s until events were accepted again: %s events acknowledged, %s lost, %s duplicated\n' "$kills" "$wanted" "$longest" \
        "$(wc -l <"$state/expected")" "$(sort -u "$state/stored" | comm -23 "$state/expected" - | wc -l)" "$(uniq -d "$state/stored" | wc -l)"
    cat "$state/drill.log"
}

# more_acknowledged N: waits until more than N events more are acknowledged; fails after a minute.
more_acknowledged() {
    local before tenths
    before=$(wc -l <"$state/acknowledged")
    for ((tenths = 0; tenths < 600; tenths++)); do
        (($(wc -l <"$state/acknowledged") > before + $1)) && return
        sleep 0.1
    done
    echo "nothing was acknowledged for a minute" >&2
    return 1
}
