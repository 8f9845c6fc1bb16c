# shellcheck shell=bash
# deploy/bench rules. Sourced by deploy/bench.

settings() { :; }

run_rules() {
    local objects=${BENCH_OBJECTS:-1000000} samples=${BENCH_SAMPLES:-300} start=$SECONDS
    say "filling: $objects messages of $((objects / 10)) events by INSERT … SELECT as the tables' owner"
    # The public calls create the tables, as for every app.
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" -d '{"_id":"first"}' "$url/api/$KEY/storage/Messages"
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" -d '{"_id":"first"}' "$url/api/$KEY/storage/Events"
    psql -q -v schema="$schema" -v objects="$objects" -f "$here/bench.d/rules.sql" "$database"
    psql -q -c "VACUUM (ANALYZE) $schema.\"Messages\"" -c "VACUUM (ANALYZE) $schema.\"Events\"" -c CHECKPOINT "$database"
    printf 'filled in %s s\n' "$((SECONDS - start))"

    printf '\n%s cores, one connection through the gateway, medians of %s requests each, in turn; user u77\n\n' "$(nproc)" "$samples"
    python3 "$here/bench.d/rules.py" "$url" "$samples"
}
