# shellcheck shell=bash
# deploy/bench compare BEFORE AFTER: two folders of programs. Sourced by deploy/bench.
#
# Both servers run at the same time with the same 10,000 objects, and take turns: before, after, after, before. Other work on the
# machine then slows both. Each pair of neighbours gives one ratio. The CPU time per request varies least, so it shows small changes.

compare_builds() {
    [[ -x ${1:-}/martlet && -x ${2:-}/martlet ]] \
        || die "usage: deploy/bench compare BEFORE AFTER, two folders with the programs of a release build"
    need_packages wrk gawk jq
    programs_of[before]=$(cd "$1" && pwd)
    programs_of[after]=$(cd "$2" && pwd)
    folder=$state
    rm -rf "$folder"
    trap remove_builds EXIT
    local build
    for build in before after; do start_build "$build"; done
    local pairs=${BENCH_PAIRS:-8}
    printf '\n%s cores, %s pairs of %s s, %s connections; medians, and the middle half of the pairs\n\n' \
        "$(nproc)" "$pairs" "$seconds" "$connections"
    printf '%-8s %18s %22s %20s %20s\n' "" "requests/s" "after : before" "CPU µs/request" "after : before"
    local mode
    for mode in get list create; do compare_mode "$mode" "$pairs"; done
    [[ ! -s $folder/failed ]] || die "requests failed: $(sort "$folder/failed" | uniq -c)"
}

declare -gA programs_of supervisor_of
remove_builds() {
    local build
    for build in before after; do
        supervisor=${supervisor_of[$build]:-}
        clean_up
    done
    [[ -n ${BENCH_KEEP:-} ]] || rm -rf "$folder"
}

start_build() {
    use_build "$1"
    mkdir -p "$state"
    MARTLET_PORT=$(free_port)
    export MARTLET_PORT
    start_server
    supervisor_of[$1]=$supervisor
    use_build "$1"
    fill
}

# use_build before|after: the variables that the rest of deploy/bench reads.
use_build() {
    state=$folder/$1
    release=${programs_of[$1]}
    connection=$state/connection.json
    [[ -s $connection ]] || return 0
    url=$(jq -r .url "$connection")
    KEY=$(jq -r .appKey "$connection")
    SECRET=$(jq -r .secret "$connection")
    export KEY SECRET
    schema=app_$(jq -r .appId "$connection")
    database=$(socket_database)
}

# compare_mode MODE PAIRS: a line of the table. The order within a pair alternates.
compare_mode() {
    local pair build
    : >"$folder/$1"
    for ((pair = 0; pair < $2; pair++)); do
        local order=(before after)
        ((pair % 2 == 0)) || order=(after before)
        for build in "${order[@]}"; do
            use_build "$build"
            echo "$pair $build $(measure "$1")" >>"$folder/$1"
        done
    done
    gawk -v mode="$1" -v failed="$folder/failed" '
        function at(values, n, share) { return values[int((n - 1) * share) + 1] }
        { rate[$1, $2] = $3; cost[$1, $2] = $4; if ($5 > 0) print mode, $2 >>failed; if ($1 + 1 > n) n = $1 + 1 }
        END {
            for (i = 0; i < n; i++) {
                rates["before"][i] = rate[i, "before"]; rates["after"][i] = rate[i, "after"]
                costs["before"][i] = cost[i, "before"]; costs["after"][i] = cost[i, "after"]
                faster[i] = rate[i, "after"] / rate[i, "before"]; dearer[i] = cost[i, "after"] / cost[i, "before"]
            }
            asort(rates["before"]); asort(rates["after"]); asort(costs["before"]); asort(costs["after"]); asort(faster); asort(dearer)
            printf "%-8s %8d → %7d %8.2f (%.2f to %.2f) %9d → %6d %8.2f (%.2f to %.2f)\n", mode,
                at(rates["before"], n, 0.5), at(rates["after"], n, 0.5), at(faster, n, 0.5), at(faster, n, 0.25), at(faster, n, 0.75),
                at(costs["before"], n, 0.5), at(costs["after"], n, 0.5), at(dearer, n, 0.5), at(dearer, n, 0.25), at(dearer, n, 0.75)
        }' "$folder/$1"
}

# measure MODE → requests per second, CPU microseconds of gateway, storage and PostgreSQL per request, requests that failed.
measure() {
    local line start end
    start=$(all_ticks)
    line=$(MODE=$1 wrk -t1 -c"$connections" -d"${seconds}s" -s "$here/bench.d/requests.lua" "$url" | grep RESULT)
    end=$(all_ticks)
    gawk -v ticks=$((end - start)) -v hz="$(getconf CLK_TCK)" '{ print $2 / $3, ticks / hz * 1e6 / $2, $4 + $5 }' <<<"$line"
}

all_ticks() {
    local name sum=0
    for name in gateway storage postgres; do sum=$((sum + $(cpu_ticks "$name"))); done
    echo "$sum"
}
