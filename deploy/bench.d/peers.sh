# shellcheck shell=bash
# deploy/bench peers. Sourced by deploy/bench.
#
# Martlet and PocketBase do the same work in turn, on the same machine, each with 10,000 objects and an index on status and priority.
# BENCH_SUBSCRIBERS (500) follow live changes.

subscribers=${BENCH_SUBSCRIBERS:-500}
# More objects than can be deleted in a second, to have enough for each round.
deletes_per_second=10000
upload_bytes=65536

settings() {
    need_packages wrk python3-venv
    # All come from one address.
    export MARTLET_GATEWAY_LIMIT_ADDRESS_STREAMS=$subscribers MARTLET_GATEWAY_LIMIT_KEY_STREAMS=$subscribers
    ulimit -n $((subscribers * 3 + 1000))
}

run_peers() {
    python3 -m venv "$state/venv"
    "$state/venv/bin/pip" install -q --disable-pip-version-check -r "$here/bench.d/peers.txt"
    local port
    port=$(free_port)
    peer=http://127.0.0.1:$port
    "$state/venv/bin/pocketbase" superuser upsert bench@example.org 'correct horse' --dir "$state/pocketbase" >/dev/null
    "$state/venv/bin/pocketbase" serve --http "127.0.0.1:$port" --dir "$state/pocketbase" >"$state/pocketbase.log" 2>&1 &
    pocketbase=$!
    trap 'kill $pocketbase 2>/dev/null; remove_server' EXIT
    for ((tenths = 0; tenths < 100; tenths++)); do
        curl -sf -o /dev/null "$peer/api/health" && break
        sleep 0.1
    done
    export IDS=$state/ids FILE=$state/file DELETES=$((deletes_per_second * (rounds * seconds + 1)))
    head -c "$upload_bytes" /dev/urandom >"$FILE"
    python3 "$here/bench.d/peers.py" "$url" "$KEY" "$SECRET" "$MASTER" "$peer" "$state/pocketbase/data.db" "$DELETES" >"$IDS"

    printf '\n%s cores, %s rounds of %s s, %s connections, medians; PocketBase %s\n' "$(nproc)" "$rounds" "$seconds" "$connections" \
        "$("$state/venv/bin/pocketbase" --version | gawk '{ print $NF }')"
    printf 'Martlet flushes each write to the disk before it answers; PocketBase (SQLite, synchronous=NORMAL) does not.\n\n'
    printf '%-34s %9s %11s %7s\n' "per second" Martlet PocketBase ratio
    peers get "get"
    peers list "list, filtered and ordered"
    peers create "create"
    peers update "update one field"
    peers delete "delete"
    peers upload "upload a file of $((upload_bytes / 1024)) KiB"
    peers login "log in with a password"
    peers live "live events, $subscribers subscribers"
    print_live
}

# peers MODE NAME: a line of the table.
peers() {
    local ours=() theirs=() round
    warm_up "$1"
    for ((round = 0; round < rounds; round++)); do
        ours+=("$(PEER=martlet ask "$1" "$url" $((round * seconds)))")
        theirs+=("$(PEER=pocketbase ask "$1" "$peer" $((round * seconds)))")
    done
    [[ ! -s $state/failed ]] || die "requests failed: $(cat "$state/failed")"
    gawk -v n="$2" -v a="$(median "${ours[@]}")" -v b="$(median "${theirs[@]}")" 'BEGIN { printf "%-34s %9d %11d %7.2f\n", n, a, b, a / b }'
}

# Warms up: fills caches and prepares statements. It deletes objects that no round uses.
warm_up() {
    local start=$((rounds * seconds)) seconds=1
    # The program for live events warms up by itself.
    [[ $1 == live ]] && return
    PEER=martlet ask "$1" "$url" "$start" >/dev/null
    PEER=pocketbase ask "$1" "$peer" "$start" >/dev/null
}

# ask MODE URL SECOND → requests per second, or live events. SECOND says for how many seconds requests of this mode were sent before.
# Log-ins come from 8 users, each with a connection.
ask() {
    local line count=$connections threads=1
    if [[ $1 == live ]]; then
        ask_live "$2"
        return
    fi
    [[ $1 == login ]] && count=8 threads=8
    line=$(MODE=$1 FIRST=$(($3 * deletes_per_second)) wrk -t"$threads" -c"$count" -d"${seconds}s" --timeout 10s -s "$here/bench.d/peers.lua" "$2" |
        grep RESULT)
    gawk -v n="$PEER $1" '$4 + $5 > 0 { print n, $4, "not 2xx,", $5, "broken off" }' <<<"$line" >>"$state/failed"
    gawk '{ printf "%.0f\n", $2 / $3 }' <<<"$line"
}

ask_live() {
    local line
    if line=$(python3 "$here/bench.d/peers_live.py" "$PEER" "$1" "$subscribers" "$seconds" 2>&1); then
        echo "$PEER $line" >>"$state/live"
        gawk '{ print $2 }' <<<"$line"
    else
        echo "$line" >>"$state/failed"
    fi
}

print_live() {
    printf '\nms from sending a write until all subscribers have its event:\n'
    local name
    for name in martlet pocketbase; do
        printf '%-11s p50 %s, p99 %s\n' "$name" "$(live_median "$name" 4)" "$(live_median "$name" 5)"
    done
}

# live_median PEER COLUMN
live_median() {
    local values
    mapfile -t values < <(gawk -v n="$1" -v c="$2" '$1 == n { print $c }' "$state/live")
    median "${values[@]}"
}
