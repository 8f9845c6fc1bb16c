# shellcheck shell=bash
# deploy/bench breaks. Sourced by deploy/bench.

settings() { :; }

run_breaks() {
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" -d '{"_id":"first"}' "$url/api/$KEY/storage/Break"
    DATABASE=$database SCHEMA=$schema python3 "$here/bench.d/breaks.py" "$state" "$release" "${BENCH_KILLS:-100}" "${BENCH_SUBSCRIBERS:-20}"
}
