# shellcheck shell=bash
# deploy/bench questions. Sourced by deploy/bench.

settings() { :; }

run_questions() {
    local events=${BENCH_EVENTS:-10000000} samples=${BENCH_SAMPLES:-7} start space
    # The first question gives the app's space its number.
    curl -sf -o /dev/null -H "X-Martlet-Master-Key: $MASTER" "$url/api/$KEY/analytics/people"
    space=$(psql -qAt -c "SELECT id FROM analytics.spaces WHERE app_id = '$(jq -r .appId "$connection")' AND environment = 'live'" "$database")
    say "filling: $events events of 30 days by INSERT … SELECT"
    start=$SECONDS
    # Events from before the watermark are not rolled up, so it is set back when all events are stored.
    psql -q -v space="$space" -v events="$events" -f "$here/bench.d/questions.sql" "$database"
    printf 'filled in %s s\n' "$((SECONDS - start))"
    start=$SECONDS
    psql -q -c "UPDATE analytics.rollups SET reached = '-infinity', seen = '1:1:'" "$database"
    until [[ $(psql -qAt -c "SELECT reached > now() - interval '1 minute' FROM analytics.rollups" "$database") == t ]]; do sleep 1; done
    printf 'rolled up in %s s\n' "$((SECONDS - start))"
    start=$SECONDS
    # The events are not in blocks yet either; new blocks are planned every 30 s.
    psql -q -c "UPDATE analytics.block_reach SET reached = '-infinity'" "$database"
    until [[ $(psql -qAt -c "SELECT reached > now() - interval '5 minutes' AND NOT EXISTS (SELECT FROM analytics.blocks WHERE NOT is_built) FROM analytics.block_reach" "$database") == t ]]; do sleep 1; done
    printf 'in blocks in %s s\n' "$((SECONDS - start))"
    psql -q -c 'VACUUM (ANALYZE)' -c CHECKPOINT "$database"
    psql -qAt -F ' ' -c "
        SELECT CASE WHEN c.relname ~ '^events_' THEN 'events' ELSE c.relname END AS what, pg_size_pretty(sum(pg_total_relation_size(c.oid))),
            round(sum(pg_total_relation_size(c.oid)) / (SELECT count(*) FROM analytics.events), 1) || ' bytes per event'
        FROM pg_class AS c WHERE c.relnamespace = 'analytics'::regnamespace AND c.relkind = 'r'
        GROUP BY 1 HAVING sum(pg_total_relation_size(c.oid)) > 1000000 ORDER BY sum(pg_total_relation_size(c.oid)) DESC" "$database"

    local from to
    from=$(date -u -d '-30 days' +%F) to=$(date -u -d '-1 day' +%F)
    local span="from=$from&to=$to"
    printf '\n%s cores, one connection through the gateway, %s requests each, ms; must: 200 from roll-ups\n\n' "$(nproc)" "$samples"
    printf '%-58s %8s %8s\n' "" p50 max
    ask "events by day" "counts?$span"
    ask "events and persons by day" "counts?$span&people=true"
    ask "top events with persons, 30 days" "counts?$span&interval=none&group=event&people=true"
    ask "top events with persons by day" "counts?$span&group=event&people=true"
    ask "top screens" "screens?$span"
    ask "app versions with persons by day" "counts?$span&group=release&people=true"
    ask "devices with persons by day" "counts?$span&group=device&people=true"
    ask "countries with persons, 30 days" "counts?$span&interval=none&group=country&people=true"
    ask "one event by app version by day" "counts?$span&event=event%200&group=release"
    ask "one event by device, 30 days" "counts?$span&interval=none&event=event%200&group=device"
    ask "events by hour" "counts?$span&interval=hour"
    ask "events by day in another time zone" "counts?$span&timeZone=America/New_York"
    ask "active and new persons by day" "people?$span"
    ask "active and new persons by week" "people?$span&interval=week"
    ask "active and new persons by month" "people?$span&interval=month"
    ask "active persons by day in another time zone" "people?$span&timeZone=America/New_York"
    ask "sessions by day" "sessions?$span"
    ask "retention by day, 30 cohorts" "retention?$span"
    ask "retention by week" "retention?$span&interval=week"
    printf '\nfrom blocks of events, and the events themselves\n'
    samples=3
    ask "the last 30 minutes" "live"
    ask "one event by a property, 1 day" "counts?from=$to&to=$to&interval=none&event=event%200&group=property&property=plan"
    ask "one event by a property, 30 days" "counts?$span&interval=none&event=event%200&group=property&property=plan"
    ask "persons of one event by app version, 30 days" "counts?$span&interval=none&event=event%200&group=release&people=true"
    ask "funnel of 3 steps, 7 days" "funnel?from=$(date -u -d '-7 days' +%F)&to=$to" '{"steps":["event 0","event 1","event 2"]}'
    ask "funnel of 3 steps, 30 days" "funnel?$span" '{"steps":["event 0","event 1","event 2"]}'
    ask "100 events as they are" "events"
}

# ask NAME QUESTION [BODY]: a line of the table.
ask() {
    local number
    for ((number = 0; number <= samples; number++)); do
        curl -s -o "$state/answer" -w '%{http_code} %{time_total}\n' -H "X-Martlet-Master-Key: $MASTER" ${3:+-d "$3"} "$url/api/$KEY/analytics/$2"
    done >"$state/times"
    if grep -qv '^200 ' "$state/times"; then
        printf '%-58s %s\n' "$1" "$(head -c 200 "$state/answer")"
        return
    fi
    # The first request warms caches.
    tail -n +2 "$state/times" | cut -d ' ' -f 2 | sort -n | gawk -v name="$1" '{ t[NR] = $1 * 1000 } END { printf "%-58s %8.1f %8.1f\n", name, t[int((NR + 1) / 2)], t[NR] }'
}
