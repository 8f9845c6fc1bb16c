# shellcheck shell=bash
# Archives of apps that are kept in a folder: made now or on a schedule, listed, cancelled, deleted. Sourced by `app`, not run.
# An archive is ID.age. Beside it, ID.json says when it was made, how large it is, and what the last proof said; a run that
# failed leaves ID.json alone. ID is the app's id and the time: k2v9x0q1m3ab-20261128T020000Z.
# shellcheck disable=SC2154  # `archives`, `work` and the options are set by `app`

units=/etc/systemd/system
# Runs of an app that failed and are still listed.
failures_listed=20

# take_turn SECONDS: waits for another run, for this long at most.
take_turn() {
    install -d -m 0711 "$records"
    exec 9> "$records/apps.lock"
    flock -n 9 || say "waiting for the run in progress (see: martlet app backups cancel)"
    flock -w "$1" 9 || die "the run in progress has not ended in time"
    # A killed run leaves its process id, which `cancel` must not take for this run's.
    : > "$records/apps.running"
}

# in_turn COMMAND…: runs it after the run in progress, in a process group of its own, which `cancel` ends.
in_turn() {
    local name=$task status=0
    # The run reports its failure itself, unless it was killed.
    task=
    set -m
    (
        set +m
        run=$BASHPID task=$name
        trap clean_up EXIT
        trap 'exit 130' INT
        trap stop TERM HUP
        take_turn 43200
        echo "$run ${subject:-all}" > "$records/apps.running"
        "$@"
    ) < /dev/null &
    child=$!
    set +m
    wait "$child" || status=$?
    ((status <= 128 || status == 130 || status == 143)) || task=$name
    return "$status"
}

# keep_archive APP: writes an archive into the folder, and deletes those that are expired.
keep_archive() {
    local app=$1 id start=$SECONDS
    # A run that failed within the same second has used the name.
    until id=$app-$(date -u +%Y%m%dT%H%M%SZ) && [[ ! -e $archives/$id.json ]]; do sleep 0.1; done
    unfinished=$id to=$archives/$id.age
    # Other users need to enter it for their own backups.
    [[ -d $folder ]] || install -d -m 0755 "$folder"
    install -d -m 0700 "$archives"
    # Left by killed runs.
    rm -f "$archives"/*.part
    back_up "$app" "$to"
    jq -c --arg id "$id" --argjson seconds $((SECONDS - start)) --argjson size "$(stat -c %s "$to")" \
        '{id: $id, app: .app.id, time: .created, result: "good", seconds: $seconds, sizeInBytes: $size,
          rows: ([.tables[].rows] | add // 0), files: .files.count}' "$work/manifest.json" | record "$id"
    unfinished=
    summarize
    # Before the old archives are deleted: an older copy must not go before there is a newer one.
    copy_away "$app"
    forget_expired "$app"
    summarize
    say "the archive is $id"
}

# record ID: keeps the JSON of standard input.
record() { write_private "$archives/$1.json" "$EUID" 0600; }

# record_failure STATUS: of `task`. A cancelled run sends no mail.
record_failure() {
    local result=failed
    (($1 != 130)) || result=cancelled
    if [[ -n $unfinished && -d $archives ]]; then
        rm -f "$archives/$unfinished.age"
        jq -n -c --arg id "$unfinished" --arg result "$result" '{id: $id, app: ($id | split("-")[0]), time: (now | todate), result: $result}' |
            record "$unfinished"
        forget_expired "${unfinished%%-*}"
        summarize
    fi
    if [[ $result == failed ]]; then report_failure "$task" "$1"; else say "cancelled: $task"; fi
}

# entries [APP]: what is known of each run, as JSON, the oldest first.
entries() {
    [[ -d $archives ]] || { echo '[]'; return; }
    find "$archives" -maxdepth 1 -name "${1:-*}-*.json" -print0 | xargs -0 -r cat | jq -s -c 'sort_by(.time, .id)'
}

# proofs [APP]: the last proof of each app, and its last good one, as JSON.
proofs() {
    [[ -d $archives ]] || { echo '[]'; return; }
    find "$archives" -maxdepth 1 -name "${1:-*}.proof" -print0 | xargs -0 -r cat | jq -s -c .
}

# --- retention and copies elsewhere ---

# forget_expired APP: deletes archives beyond the number and age set in backup.env. The newest stays. Archives with a bad proof
# are not counted. While the last proof is bad, the newest archive with a good proof stays, too.
forget_expired() {
    entries "$1" | jq -r --argjson count "$retain_app" --argjson days "${retain_app_days:-0}" --argjson failures "$failures_listed" \
        --slurpfile proofs <(proofs "$1") '
        reverse
        | ([.[] | select($proofs[0][0].last.result == "bad" and .proof.result == "good").id] | first) as $proved
        | (foreach (.[] | select(.result == "good")) as $one ({newer: 0, next: 0};
                {newer: .next, next: (.next + if $one.proof.result == "bad" then 0 else 1 end)};
                select(.newer > 0 and $one.id != $proved and (.newer >= $count
                    or ($days > 0 and ($one.time | fromdate) < now - $days * 86400))) | $one.id)),
          (map(select(.result != "good")) | .[$failures:][] | .id)' |
        while IFS= read -r id; do forget "$id"; done
}

# forget ID
forget() {
    rm -f "$archives/$1.age" "$archives/$1.json"
    [[ -z $copy_apps_to ]] || remote delete --include "$1.*" "$copy_apps_to" < /dev/null || say "could not delete $1 in $copy_apps_to"
}

# copy_away APP: copies every archive that is not at the destination yet, because an earlier copy may have failed.
copy_away() {
    [[ -n $copy_apps_to ]] || return 0
    need_program rclone rclone
    remote copy --include "$1-*.age" --include "$1-*.json" "$archives" "$copy_apps_to" ||
        die "the archives of $1 could not be copied to $copy_apps_to; the next run tries again"
}

# --- list, delete, cancel ---

# list_archives [APP]
list_archives() {
    [[ -z $1 ]] || check_app_id "$1"
    entries "$1" > "$work/entries"
    find "$archives" -maxdepth 1 -name '*.age' -printf '%f\n' 2> /dev/null > "$work/there" || true
    jq -r --rawfile there "$work/there" '
        ($there | split("\n")) as $files
        | ["ID", "TIME", "RESULT", "SIZE", "ROWS", "FILES", "PROVED"],
          (.[] | (.id + ".age") as $file
            | [.id, .time, (if .result == "good" and ($files | index($file)) == null then "gone" else .result end),
            (if .sizeInBytes then .sizeInBytes / 1048576 | ceil | "\(.) MiB" else "-" end), .rows // "-", .files // "-",
            (if .proof then "\(.proof.time) \(.proof.result)" else "-" end)]) | @tsv' "$work/entries" |
        awk -F '\t' '{ printf "%-49s %-21s %-9s %10s %10s %8s  %s\n", $1, $2, $3, $4, $5, $6, $7 }'
    proofs "$1" | jq -r 'map(.last) | max_by(.time)
        | if . then "last proof: \(.time): \(.result): archive \(.id), "
            + "\(if .result == "failed" then "not tried" elif .isRestored then "restored" else "only read" end), \(.rows) rows, \(.seconds) s"
          else "last proof: never (martlet app backups verify)" end'
}

# delete_archive ID
delete_archive() {
    [[ $1 =~ ^[a-z][a-z0-9]{0,31}-[0-9]{8}T[0-9]{6}Z$ && -e $archives/$1.json ]] || die "there is no archive $1 (see: martlet app backups)"
    take_turn 60
    forget "$1"
    summarize
    say "deleted $1"
}

# cancel [APP]: stops the run in progress.
cancel() {
    local process='' app='' tenths
    [[ -e $records/apps.lock ]] || die "no run is in progress"
    exec 9> "$records/apps.lock"
    ! flock -n 9 || die "no run is in progress"
    read -r process app < "$records/apps.running" || die "the run has not begun yet"
    [[ -z $1 || $1 == "$app" ]] || die "the run in progress is for $app, not for $1"
    echo "$process" > "$records/apps.cancelled"
    kill -TERM -- "-$process" || die "the run could not be stopped"
    for ((tenths = 0; tenths < 600; tenths++)); do
        kill -0 -- "-$process" 2> /dev/null || { say "cancelled ($app)"; return; }
        sleep 0.1
    done
    die "the run has not stopped within a minute"
}

# file_of FILE|ID: the archive's path.
file_of() { if [[ ! -e $1 && -e $archives/$1.age ]]; then echo "$archives/$1.age"; else echo "$1"; fi; }

# --- schedule: the timers of whole backups, with an app's id (martlet-backup@.service) ---

# schedule [APP [WHEN|off]]
schedule() {
    local app=$1 when=$2 timer=martlet-backup@app-$1.timer
    [[ -z $app ]] || check_app_id "$app"
    if [[ -z $when ]]; then
        if [[ -z $app ]]; then timer='martlet-backup@app*.timer'; fi
        systemctl list-timers --all "$timer" --no-pager
        return
    fi
    need_root
    if [[ $when == off ]]; then
        unschedule "$app"
        say "$app is no longer archived; its archives stay"
        return
    fi
    if [[ $when == *$'\n'* ]] || ! systemd-analyze calendar "$when" > /dev/null; then die "not a time of systemd.time(7): $when"; fi
    connect
    [[ $(query "SELECT count(*) FROM auth.apps WHERE id = '$app'") == 1 ]] || die "there is no app $app"
    make_key
    write_private "$units/$timer" root: 0644 << END
# Written by "martlet app backups schedule".
[Unit]
Description=Martlet: archive of the app $app

[Timer]
OnCalendar=$when
RandomizedDelaySec=60
Persistent=true

[Install]
WantedBy=timers.target
END
    # The file's time tells alerts since when the app is scheduled, while it has no archive yet.
    touch "$units/$timer"
    systemctl daemon-reload
    systemctl enable --quiet "$timer" martlet-backup@apps.timer
    systemctl restart "$timer" martlet-backup@apps.timer
    summarize
    say "$app is archived at that time, and the latest archive is proved weekly (martlet app backups schedule)"
}

# unschedule APP
unschedule() {
    local timer=martlet-backup@app-$1.timer
    if [[ -e $units/$timer ]]; then
        systemctl disable --quiet --now "$timer"
        rm -f "$units/$timer"
        systemctl daemon-reload
    fi
    [[ -n $(scheduled_apps) ]] || systemctl disable --quiet --now martlet-backup@apps.timer
    summarize
}

scheduled_apps() {
    local file
    for file in "$units"/martlet-backup@app-*.timer; do
        [[ -e $file ]] || continue
        file=${file##*@app-}
        echo "${file%.timer}"
    done
}

# --- for the dashboard and for alerts ---

# Keeps, for each app, its last run, archive and proof for the dashboard (`BackupRecords`), and times for Prometheus's node
# exporter of this machine, if there is one.
summarize() {
    install -d -m 0711 "$records"
    entries | jq -c --slurpfile proofs <(proofs) '($proofs[0] | map({(.last.app): .last}) | add // {}) as $last
        | [group_by(.app)[] | map(select(.result == "good")) as $good | {app: .[0].app, archives: ($good | length),
            time: $good[-1].time, sizeInBytes: $good[-1].sizeInBytes, lastRun: .[-1].time, lastResult: .[-1].result,
            proof: ($last[.[0].app] | if . then {id, time, result, seconds} else null end)}]
        | sort_by(.lastRun) | .[-100:]' | write_private "$records/apps.json" "$EUID" 0644
    [[ -d $exporter ]] || return 0
    local app timer interval
    # An archive is late a day after the longest pause of the schedule. Proofs are weekly, and two may be missing; the first one
    # needs an archive.
    for app in $(scheduled_apps); do
        timer=$units/martlet-backup@app-$app.timer
        interval=$(longest_interval "$(value_of OnCalendar "$timer")" || true)
        [[ -n $interval ]] || continue
        entries "$app" | jq -r --arg app "$app" --slurpfile proofs <(proofs "$app") --argjson since "$(stat -c %Y "$timer")" \
            --argjson interval "$interval" '
            def latest: map(fromdate) + [$since] | max;
            . as $runs |
            [.[] | select(.result == "good").time] as $archives
            | [$proofs[0][].good | select(. != null).time] as $proved
            | "martlet_app_backup_last_success_seconds{app=\"\($app)\"} \($archives | latest)",
              "martlet_app_backup_limit_seconds{app=\"\($app)\"} \($interval + 86400)",
              "martlet_app_backup_last_proof_seconds{app=\"\($app)\"} \($proved | latest)",
              "martlet_app_backup_proof_limit_seconds{app=\"\($app)\"} \(15 * 86400
                  + if any($proved[]; fromdate > $since) then 0 else $interval end)",
              "martlet_app_backup_failing{app=\"\($app)\"} \(if ($runs[-1].result // "") == "failed" then 1 else 0 end)"'
    done | sort | write_private "$exporter/martlet_app_backup.prom" root: 0644
}
