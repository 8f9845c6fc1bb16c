# shellcheck shell=bash
# deploy/bench users. Sourced by deploy/bench.

settings() { need_packages wrk; }

run_users() {
    local count=16 number file=$state/refresh
    mkdir "$file"
    for ((number = 1; number <= count; number++)); do
        curl -sf -H "X-Martlet-Secret: $SECRET" -d "{\"userName\":\"user$number\",\"password\":\"correct horse $number\"}" "$url/api/$KEY/auth/signup" >"$state/user.json"
        jq -r .refreshToken "$state/user.json" >"$file/$number"
    done
    TOKEN=$(jq -r .accessToken "$state/user.json")
    curl -sf -o /dev/null -H "X-Martlet-Secret: $SECRET" -d '{"_id":"o1","title":"one"}' "$url/api/$KEY/storage/Bench"
    export TOKEN REFRESH_TOKENS=$file ACCESS_TOKENS=$state/access

    printf '\n%s cores, rounds of %s s\n\n' "$(nproc)" "$seconds"
    printf '%-34s %9s %12s %12s %12s\n' "" "per s" "gateway µs" "storage µs" "auth µs"
    measure get "get, nobody signed in" 32
    measure token "get, one token per connection" 32
    measure refresh "refresh (must: 1,500)" $count
    measure fresh "get, a new token each time" 32
    measure login "log-in" $count
    local quiet=$rate
    printf '\nget while 64 connections log in, against alone (must: 0.70)\n'
    measure get "alone" 32
    quiet=$rate
    MODE=login wrk -t16 -c64 -d"$((seconds + 2))s" -s "$here/bench.d/users.lua" "$url" >"$state/flood" &
    sleep 1
    measure get "under the flood" 32
    wait $!
    printf 'ratio %s; the flood: %s\n' "$(gawk -v a="$rate" -v b="$quiet" 'BEGIN { printf "%.2f", a / b }')" "$(grep RESULT "$state/flood")"
}

# measure MODE NAME CONNECTIONS: a line of the table; the rate also in $rate.
measure() {
    local -A from to
    local line name threads=1
    [[ $1 == refresh || $1 == login ]] && threads=$3
    for name in gateway storage auth; do from[$name]=$(cpu_ticks "$name"); done
    line=$(MODE=$1 wrk -t"$threads" -c"$3" -d"${seconds}s" -s "$here/bench.d/users.lua" "$url" | grep RESULT)
    for name in gateway storage auth; do to[$name]=$(cpu_ticks "$name"); done
    rate=$(gawk '{ printf "%.0f", $2 / $3 }' <<<"$line")
    printf '%-34s %9s' "$2" "$rate"
    for name in gateway storage auth; do
        gawk -v a="${to[$name]}" -v b="${from[$name]}" -v hz="$(getconf CLK_TCK)" '{ printf " %12.0f", (a - b) / hz * 1e6 / $2 }' <<<"$line"
    done
    gawk '$4 + $5 > 0 { printf "   %d not 2xx, %d broken off", $4, $5 } END { printf "\n" }' <<<"$line"
}
