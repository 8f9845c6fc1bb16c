# shellcheck shell=bash
# deploy/bench storage. Sourced by deploy/bench.

settings() { :; }

run_storage() {
    local objects=${BENCH_OBJECTS:-1000000} samples=${BENCH_SAMPLES:-300} start=$SECONDS
    say "filling: $objects objects by INSERT … SELECT as the tables' owner"
    # The public calls create the tables, as for every app.
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" -d '{"_id":"first"}' "$url/api/$KEY/storage/Post"
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" -d '{"_id":"first"}' "$url/api/$KEY/storage/Team"
    psql -q -v schema="$schema" -v objects="$objects" -f "$here/bench.d/storage.sql" "$database"
    printf 'filled in %s s\n' "$((SECONDS - start))"
    make_index '{"kind":"prefix","fields":["name"]}'
    make_index '{"kind":"text","fields":["text"]}'
    make_index '{"kind":"geo","fields":["place"]}'
    psql -q -c "VACUUM (ANALYZE) $schema.\"Post\"" -c CHECKPOINT "$database"
    printf '%s objects, %s with indexes\n' "$objects" \
        "$(psql -qAt -c "SELECT pg_size_pretty(pg_total_relation_size('$schema.\"Post\"'))" "$database")"

    printf '\n%s cores, one connection through the gateway, %s requests each, user u77 with two roles; must: p50 below 5 ms\n\n' \
        "$(nproc)" "$samples"
    python3 "$here/bench.d/storage.py" "$url" "$samples"
}

make_index() {
    local start=${EPOCHREALTIME/./}
    curl -sf -o /dev/null --max-time 600 -H "X-Martlet-Master-Key: $MASTER" -d "$1" "$url/api/$KEY/collections/Post/indexes" ||
        die "no index $1"
    # A job builds the index of a large collection.
    local list
    while list=$(curl -sf -H "X-Martlet-Master-Key: $MASTER" "$url/api/$KEY/collections/Post/indexes") && [[ $list == *'"state":"building"'* ]]; do
        sleep 0.2
    done
    [[ $list != *'"state":"failed"'* ]] || die "index failed: $list"
    printf 'index %-40s %3s s\n' "$1" "$(((${EPOCHREALTIME/./} - start) / 1000000))"
}
