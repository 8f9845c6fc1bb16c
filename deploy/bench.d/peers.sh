# shellcheck shell=bash
# deploy/bench peers. Sourced by deploy/bench.
#
# Martlet and PocketBase do the same work in turn, on the same machine, each with 10,000 objects and an index on status and priority.

settings() { need_packages wrk python3-venv; }

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
    python3 "$here/bench.d/peers.py" "$url" "$KEY" "$SECRET" "$MASTER" "$peer" >"$state/ids"
    export IDS=$state/ids

    printf '\n%s cores, %s rounds of %s s, %s connections, medians; PocketBase %s\n\n' "$(nproc)" "$rounds" "$seconds" "$connections" \
        "$("$state/venv/bin/pocketbase" --version | gawk '{ print $NF }')"
    printf '%-34s %9s %11s %7s\n' "per second" Martlet PocketBase ratio
    peers get "get"
    peers list "list, filtered and ordered"
    peers create "create"
    peers update "update one field"
    peers login "log in with a password"
}

# peers MODE NAME: a line of the table.
peers() {
    local ours=() theirs=() round
    for ((round = 0; round < rounds; round++)); do
        ours+=("$(PEER=martlet ask "$1" "$url")")
        theirs+=("$(PEER=pocketbase ask "$1" "$peer")")
    done
    gawk -v n="$2" -v a="$(median "${ours[@]}")" -v b="$(median "${theirs[@]}")" 'BEGIN { printf "%-34s %9d %11d %7.2f\n", n, a, b, a / b }'
    [[ ! -s $state/failed ]] || die "requests failed: $(cat "$state/failed")"
}

# ask MODE URL → requests per second. Log-ins come from 8 users, each with a connection.
ask() {
    local line count=$connections threads=1
    [[ $1 == login ]] && count=8 threads=8
    line=$(MODE=$1 wrk -t"$threads" -c"$count" -d"${seconds}s" --timeout 10s -s "$here/bench.d/peers.lua" "$2" | grep RESULT)
    gawk -v n="$PEER $1" '$4 + $5 > 0 { print n, $4, "not 2xx,", $5, "broken off" }' <<<"$line" >>"$state/failed"
    gawk '{ printf "%.0f\n", $2 / $3 }' <<<"$line"
}
