# shellcheck shell=bash
# deploy/bench config. Sourced by deploy/bench.

settings() { need_packages wrk nginx-light; }

# A configuration of some 8 KB, the size for an app with a dozen screens.
run_config() {
    local name rounds=3 round ours=() asked=() full=() theirs=()
    gawk 'BEGIN {
        printf "{\"appVersion\":\"1.0\",\"configuration\":{\"version\":\"1.0.1\",\"colors\":[{\"name\":\"c\",\"red\":1,\"green\":2,\"blue\":3,\"alpha\":1}],\"controllers\":["
        for (i = 0; i < 12; i++) {
            printf "%s{\"name\":\"Controller%d\",\"objectsList\":[", (i ? "," : ""), i
            for (j = 0; j < 5; j++) printf "%s{\"objectName\":\"label%d\",\"objectType\":\"UILabel\",\"objectProperties\":{\"text\":\"key.%d.%d\",\"textColor\":\"c\",\"fontSize\":14}}", (j ? "," : ""), j, i, j
            printf "]}"
        }
        printf "]}}" }' >"$state/configuration.json"
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" --data-binary @"$state/configuration.json" "$url/api/$KEY/remote" || die "the configuration was not published"
    TAG=$(curl -sf -D - -o /dev/null -H "X-Martlet-Secret: $SECRET" "$url/api/$KEY/remote/1.0" | gawk 'tolower($1) == "etag:" { sub(/\r/, "", $2); print $2 }')
    export TAG
    start_ceiling

    printf '\n%s cores, %s rounds of %s s, 32 connections, medians\n\n%-44s %9s %12s %12s\n' "$(nproc)" "$rounds" "$seconds" "" "per s" "gateway µs" "config µs"
    for ((round = 0; round < rounds; round++)); do
        reading fixed "http://127.0.0.1:$ceiling" "" && theirs+=("$rate")
        reading known "$url" config && ours+=("$rate")
        reading asked "$url" config && asked+=("$rate")
        reading full "$url" config && full+=("$rate")
    done
    printf '\nconfiguration, 304 : the gateway before nginx with a fixed 304 (aim 0.90)   %s\n' \
        "$(gawk -v a="$(median "${ours[@]}")" -v b="$(median "${theirs[@]}")" 'BEGIN { printf "%d : %d = %.2f", a, b, a / b }')"
    printf 'the same, always from the service                                           %s\n' \
        "$(gawk -v a="$(median "${asked[@]}")" -v b="$(median "${theirs[@]}")" 'BEGIN { printf "%d : %d = %.2f", a, b, a / b }')"
    printf 'configuration, whole (gzip), per s   %s\n\n' "$(median "${full[@]}")"
    python3 "$here/bench.d/config.py" "$url"
}

# Starts a gateway in front of an nginx that answers a fixed 304 with the same headers: the most that a gateway can pass on.
start_ceiling() {
    local origin
    origin=$(free_port)
    ceiling=$(free_port)
    while [[ $ceiling == "$origin" ]]; do ceiling=$(free_port); done
    chmod 755 "$state"
    sed -e "s#WORK#$state#; s#ORIGIN_PORT#$origin#; s#TAG#${TAG//\"/}#" "$here/bench.d/config.nginx.conf" >"$state/nginx.conf"
    nginx -c "$state/nginx.conf"
    MARTLET_INTERNAL_SECRET=$(jq -r .internalSecret "$state/secrets.json") MARTLET_HTTP_PORT=$ceiling MARTLET_INTERNAL_PORT=$(free_port) \
        MARTLET_KEYRING_URL=$(jq -r .services.auth "$connection") MARTLET_ROUTES_FILE=$root/gateway/routes.json \
        MARTLET_STATE_DIRECTORY=$state/bench-gateway with_upstreams "127.0.0.1:$origin" env MARTLET_UPSTREAM_CONFIG=unix:"$state/origin.sock" "$release/gateway" 2>"$state/bench-gateway.log" &
    bench_gateway=$!
    for ((tenths = 0; tenths < 100; tenths++)); do
        [[ $(curl -s -o /dev/null -w '%{http_code}' -H "X-Martlet-Secret: $SECRET" "http://127.0.0.1:$ceiling/api/$KEY/remote/1.0") == 304 ]] && return
        sleep 0.1
    done
    die "the gateway for the comparison did not start"
}

# reading MODE ADDRESS SERVICE: a line of the table; the rate also in $rate.
reading() {
    local -A from to
    local line name before
    for name in gateway ${3:-}; do from[$name]=$(cpu_ticks "$name"); done
    line=$(MODE=$1 wrk -t1 -c32 -d"${seconds}s" -s "$here/bench.d/config.lua" "$2" | grep RESULT)
    for name in gateway ${3:-}; do to[$name]=$(cpu_ticks "$name"); done
    rate=$(gawk '{ printf "%.0f", $2 / $3 }' <<<"$line")
    printf '%-44s %9s' "$1" "$rate"
    for name in ${3:+gateway "$3"}; do
        before=${from[$name]}
        gawk -v a="${to[$name]}" -v b="$before" -v hz="$(getconf CLK_TCK)" '{ printf " %12.0f", (a - b) / hz * 1e6 / $2 }' <<<"$line"
    done
    gawk '$4 + $5 > 0 { printf "   %d refused, %d broken off", $4, $5 } END { printf "\n" }' <<<"$line"
}
