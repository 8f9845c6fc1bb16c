# shellcheck shell=bash
# What backup, restore and app share. Sourced after lib.sh, not run.

work=$records
conf=$settings/pgbackrest.conf
key=$settings/backup.key
scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# Settings of backup.env. They are read, not run.
# shellcheck disable=SC2034  # some are for those who source this file
read_settings() {
    local line name value
    full_every_days=7 retain_full=4 folder=/var/backups/martlet mail_to=
    retain_app=14 retain_app_days='' copy_apps_to='' app_files=$state/files app_analytics_files=$state/analytics
    # Not split by `read`, which takes one "=" away from the end of a value such as a key in base64.
    while IFS= read -r line; do
        [[ $line == *=* ]] || continue
        name=${line%%=*} value=${line#*=}
        case $name in
            FULL_EVERY_DAYS) full_every_days=$value ;;
            RETAIN_FULL) retain_full=$value ;;
            FOLDER) folder=$value ;;
            MAIL_TO) mail_to=$value ;;
            RETAIN_APP) retain_app=$value ;;
            RETAIN_APP_DAYS) retain_app_days=$value ;;
            COPY_APPS_TO) copy_apps_to=$value ;;
            APP_FILES) app_files=$value ;;
            APP_ANALYTICS_FILES) app_analytics_files=$value ;;
            RESTIC_* | AWS_* | AZURE_* | B2_* | GOOGLE_* | OS_*) export "$name=$value" ;;
        esac
    done < <(grep -v '^#' "$settings/backup.env" 2> /dev/null)
    [[ $full_every_days =~ ^[0-9]{1,4}$ && $retain_full =~ ^[1-9][0-9]{0,3}$ ]] ||
        die "FULL_EVERY_DAYS and RETAIN_FULL in backup.env must be numbers"
    [[ $retain_app =~ ^[1-9][0-9]{0,3}$ && $retain_app_days =~ ^([1-9][0-9]{0,3})?$ ]] ||
        die "RETAIN_APP and RETAIN_APP_DAYS in backup.env must be numbers"
    export RESTIC_REPOSITORY=${RESTIC_REPOSITORY:-$folder/files} RESTIC_PASSWORD_FILE=$key
    export RESTIC_CACHE_DIR=$work/cache
}

# Waits for a backup or restore in progress, a minute at most.
take_turns() {
    install -d -m 0711 "$work"
    exec 9> "$work/lock"
    flock -w 60 9 || die "another backup or restore is in progress"
    # A killed run leaves its process id, which `cancel` must not take for this run's.
    : > "$work/running"
}

pgbackrest() { as_postgres /usr/bin/pgbackrest --config="$conf" --stanza="$cluster" --log-level-console=warn --log-level-file=off "$@" 9>&-; }

# The database's backups, oldest first, as JSON: label, type, id (of `martlet backup list`), start, stop, size.
database_backups() {
    pgbackrest info --output=json | jq -c '[.[0].backup[]? | {"label": .label, type, id: .annotation.martlet, start: .timestamp.start,
        stop: .timestamp.stop, size: .info.size, stored: .info.repository.delta, error}]'
}

# The snapshots of the files, oldest first, as JSON: id of restic, time, and id of `martlet backup list` or null.
file_snapshots() {
    restic snapshots --json --tag martlet | jq -c '[.[] | {restic: .short_id, time, id: ([.tags[] | select(startswith("id:"))][0] // "" | ltrimstr("id:"))}]'
}

# manifest ID: prints the manifest that was written when the backup was made.
manifest() { restic dump --tag "martlet,id:$1" latest "$work/manifest.json"; }

# As the user of the cluster: PostgreSQL does not run as root.
as_owner() { if ((EUID == 0)); then as_postgres "$@"; else (cd / && exec "$@"); fi; }

# stop_scratch FOLDER: ends the PostgreSQL of a proof, whose data is in FOLDER/data, and removes FOLDER. The number that a killed
# run has left may be another process's by now.
stop_scratch() {
    local process
    process=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null || true)
    if [[ /proc/$process/cwd -ef $1/data ]]; then
        as_owner "$(dirname "$(readlink "/proc/$process/exe")")/pg_ctl" -D "$1/data" -m immediate -w stop > /dev/null || true
    fi
    rm -rf "${1:?}"
}

has_s3_files() { grep -q '^MARTLET\(_STORAGE\)\?_FILES_S3_BUCKET=.' "$settings/settings.env" 2> /dev/null; }

# files_without_bytes FOLDER [--checksums]: prints the files in the database on `port` whose bytes are missing, or differ.
# Files that a scanner refused are not checked, because they have no bytes.
# The folder has what is left of `files`, each blob at SPACE/XX/BLOB.
files_without_bytes() {
    local folder=$1 mode=${2:-} lists
    lists=$(mktemp -d "$work/lists.XXXXXX")
    sql -d "$database" << 'END' | sort -u > "$lists/wanted" || return 1
SELECT format('SELECT sha256 || ''  '' || %L || left(blob, 2) || ''/'' || blob FROM %I._files AS f WHERE to_jsonb(f) ->> ''state'' IS DISTINCT FROM ''refused''', nspname || '/', nspname)
FROM pg_namespace AS n WHERE EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = '_files') \gexec
END
    if [[ $mode == --checksums ]]; then
        [[ ! -s $lists/wanted ]] || (cd "$folder" && sha256sum --check --quiet "$lists/wanted" 2>&1) || true
    else
        (cd "$folder" && cut -c 67- "$lists/wanted" | while read -r path; do [[ -e $path ]] || echo "$path: missing"; done)
    fi
    wc -l < "$lists/wanted" > "$work/files.count"
    rm -rf "$lists"
}

# wait_until_recovered COMMAND…: waits until the cluster has replayed the archive. COMMAND checks whether the cluster
# still runs; when COMMAND fails, so does this.
wait_until_recovered() {
    until has_recovered; do
        "$@" || return 1
        sleep 0.5
    done
}

has_recovered() { [[ $(sql -d postgres -c 'SELECT pg_is_in_recovery()' 2> /dev/null) == f ]]; }

# --- results of backups ---

# For Prometheus's node exporter of this machine, if there is one.
exporter=/var/lib/prometheus/node-exporter
# publish NAME [VALUE]: the value is the time now unless it is given.
publish() { [[ ! -d $exporter ]] || printf '%s %s\n' "$1" "${2:-$EPOCHSECONDS}" > "$exporter/$1.prom"; }

# longest_interval WHEN: the longest time from now on without a run at a time of systemd.time(7), in seconds. Prints nothing if no
# run is left.
longest_interval() {
    {
        date +%s
        # 13 times cover a year of monthly runs.
        TZ=UTC systemd-analyze calendar --iterations=13 "$1" | sed -n 's/.*: [A-Z][a-z]* \([0-9-]* [0-9:]*\) UTC$/\1/p' | date -u -f - +%s
    } | awk 'NR > 1 && $1 - last > longest { longest = $1 - last } { last = $1 } END { if (longest) print longest }'
}

# is_stopped: whether this is ended by `systemctl stop` of its unit, and not because the machine shuts down or it took too long.
is_stopped() {
    [[ -n ${MARTLET_UNIT:-} ]] || return 1
    [[ $(systemctl show --property=Result --value "$MARTLET_UNIT") == success && $(systemctl is-system-running) != stopping ]]
}

# report_failure COMMAND STATUS: on standard error, in the system's log and by mail.
report_failure() {
    local text
    text="$1 failed on $(hostname) with status $2; see: journalctl -u 'martlet-backup@*'"
    say "$text"
    logger -p user.err -t martlet-backup "$text" || true
    [[ -z $mail_to ]] || send_mail "$text" || say "and the mail about it could not be sent"
}

# Through the mail server of the services. Nothing secret is on the command line: curl reads its options from a pipe.
send_mail() {
    local file=$settings/settings.env host from tls user scheme=smtp
    host=$(value_of MARTLET_MAIL_HOST "$file")
    from=$(value_of MARTLET_MAIL_FROM "$file" | sed 's/.*<\(.*\)>.*/\1/')
    tls=$(value_of MARTLET_MAIL_TLS "$file")
    user=$(value_of MARTLET_MAIL_USER "$file")
    [[ -n $host && -n $from ]] || return 1
    [[ $tls != tls ]] || scheme=smtps
    local port
    port=$(value_of MARTLET_MAIL_PORT "$file")
    curl --silent --show-error --max-time 60 --config <(
        printf 'url = "%s://%s:%s"\nmail-from = "%s"\nmail-rcpt = "%s"\n' "$scheme" "$host" "${port:-587}" "$from" "$mail_to"
        [[ ${tls:-starttls} != starttls ]] || echo ssl-reqd
        [[ -z $user ]] || printf 'user = "%s:%s"\n' "$user" "$(value_of MARTLET_MAIL_PASSWORD "$file" | sed 's/[\\"]/\\&/g')"
    ) --upload-file <(printf 'From: %s\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\n\r\n%s\r\n' "$from" "$mail_to" "Martlet: backup failed" "$(date -R)" "$1")
}
