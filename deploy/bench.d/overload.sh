# shellcheck shell=bash
# deploy/bench overload. Sourced by deploy/bench.
#
# Eight clients time their requests: alone, beside so many that the machine is busy, and beside ten times as many. Those that are
# refused either wait as Retry-After says, or ask again at once.

probes=8

settings() {
    need_packages wrk
    # All come from one address and use one key.
    export MARTLET_GATEWAY_LIMIT_ADDRESS_INFLIGHT=10000 MARTLET_GATEWAY_LIMIT_KEY_INFLIGHT=10000
}

run_overload() {
    fill
    printf '\n%s cores, %s s each; the times are those of %s clients\n' "$(nproc)" "$seconds" "$probes"
    for mode in get list create; do
        printf '\n%-34s %11s %11s %9s %9s %7s\n' "$mode" "accepted/s" "refused/s" "p50 ms" "p99 ms" ratio
        busy=
        overload "alone" 0 1000
        overload "beside $((connections - probes))" $((connections - probes)) 1000
        overload "beside $((connections * 10)) that wait" $((connections * 10)) 1000
        overload "beside $((connections * 10)) that do not wait" $((connections * 10)) 0
    done
}

# overload NAME CLIENTS PAUSE: a line of the table. The ratio is that of the p99 to the p99 of the busy machine.
overload() {
    local crowd='' line
    if (($2 > 0)); then
        MODE=$mode PAUSE=$3 wrk -t2 -c"$2" -d"$((seconds + 4))s" -s "$here/bench.d/overload.lua" "$url" >"$state/crowd" &
        crowd=$!
        # Until the gateway has found its limit.
        sleep 3
    fi
    line=$(MODE=$mode PAUSE=$3 TIMED=1 wrk -t"$probes" -c"$probes" -d"${seconds}s" -s "$here/bench.d/overload.lua" "$url" | grep RESULT)
    if [[ -n $crowd ]]; then wait "$crowd"; else echo RESULT 1 0 0 0 0 0 >"$state/crowd"; fi
    (($2 == 0)) || : "${busy:=$(gawk '{ print $7 }' <<<"$line")}"
    gawk -v n="$1" -v crowd="$(grep RESULT "$state/crowd")" -v busy="$busy" '{
        split(crowd, c)
        printf "%-34s %11d %11d %9.2f %9.2f", n, $3 / $2 + c[3] / c[2], $4 / $2 + c[4] / c[2], $6, $7
        if (busy) printf " %7.2f", $7 / busy
        if ($5 + c[5] > 0) printf "   %d other answers or errors", $5 + c[5]
        printf "\n" }' <<<"$line"
}
