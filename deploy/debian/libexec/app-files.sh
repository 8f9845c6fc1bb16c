# shellcheck shell=bash
# Bytes of files: in folders, or in a bucket that rclone reaches. Sourced by `app`, not run.
# They have the same names in both: SPACE/XX/BLOB. A blob's bytes never change, and no other blob ever has its name.
# shellcheck disable=SC2154  # `work`, `environment` and the options are set by `app`

# Whether a place is a remote of rclone, as bucket:files is.
is_remote() { [[ $1 == *:* ]]; }

remote() { rclone --config "${RCLONE_CONFIG:-$settings/rclone.conf}" "$@"; }

# fetch_files NAME PLACE: makes the files of `wanted.files` readable as `work`/NAME/SPACE/XX/BLOB.
fetch_files() {
    if ! is_remote "$2"; then
        ln -s "$(realpath -m "$2")" "$work/$1"
        return
    fi
    need_program rclone rclone
    mkdir "$work/$1"
    sed -n "s,^$1/,,p" "$work/wanted.files" > "$work/$1.list"
    remote copy --files-from-raw "$work/$1.list" --no-traverse "$2" "$work/$1" || die "rclone could not read from $2"
}

has_bytes() { [[ -n $with_files && $(read_json "$work/manifest.json" .files.included) == true ]]; }

# keep_bytes APP: restarts the grace period of unreferenced bytes, so that none are removed during the restore.
keep_bytes() {
    has_bytes || return 0
    local name schema
    for name in $environments; do
        schema=$(schema_of "$1" "$name")
        [[ $(query "SELECT to_regclass('$schema._orphans') IS NOT NULL") != t ]] || query "DELETE FROM $schema._orphans"
        read_json "$work/tables.json" '.[] | select(.name == "analytics.ticket_orphans") | "DELETE FROM \(.quoted) WHERE \(.condition);"' |
            fill "$1" "$name" | database
    done
}

# put_files APP: copies bytes that are missing to where they belong.
put_files() {
    has_bytes || return 0
    : > "$work/placed"
    undo+=(remove_files)
    put_missing_files "$1"
}

# put_missing_files APP: ends with an error if one could not be written.
put_missing_files() {
    has_bytes || return 0
    local path target
    sed 's/^[^ ]*  //' "$work/archive/files.sha256" | while IFS= read -r path; do
        target=$(target_of "$1" "$path")
        [[ -n $target && ! -e $target ]] || continue
        place "$work/archive/$path" "$target" || exit 1
    done && send_files "$files" && send_files "$analytics_files" && sync
}

# target_of APP PATH: where a file of the archive belongs; nothing if it does not belong to what is restored.
target_of() {
    local source=${2%%/*} rest=${2#*/} space
    space=${rest%%/*}
    case $source in
        files)
            if [[ -n $from ]]; then
                [[ $space != "$(schema_of "$1" "$from")" ]] || echo "$(folder_of "$files")/$(schema_of "$1" "$environment")/${rest#*/}"
            elif [[ -z $environment || $space == "$(schema_of "$1" "$environment")" ]]; then
                echo "$(folder_of "$files")/$rest"
            fi
            ;;
        analytics) [[ -n $from ]] || echo "$(folder_of "$analytics_files")/$rest" ;;
    esac
}

# folder_of PLACE: the folder for its files. Files for a bucket are collected in a local folder first.
folder_of() { if is_remote "$1"; then echo "$work/outgoing/${1//\//_}"; else echo "$1"; fi; }

# place SOURCE TARGET: puts a file in place atomically, with the owner of the folder of all files.
place() {
    local root=$files
    [[ $2 == "$files"/* ]] || root=$analytics_files
    if [[ $2 == "$work"/* ]]; then
        mkdir -p "$(dirname "$2")" && ln "$1" "$2"
        return
    fi
    # On a new server, the first file creates the folder.
    if [[ ! -d $root ]]; then
        mkdir -p "$root" || return
        ((EUID != 0)) || chown --reference="$(dirname "$root")" "$root" || return
    fi
    mkdir -p "$(dirname "$2")" || return
    echo "$2" >> "$work/placed"
    cp "$1" "$2.part" || return
    ((EUID != 0)) || chown --reference="$root" "$2.part" "$(dirname "$2")" "$(dirname "$(dirname "$2")")" || return
    mv "$2.part" "$2"
}

# send_files PLACE: uploads the collected files if PLACE is a bucket. Existing files stay. Storage removes what a failed restore
# leaves in its bucket.
send_files() {
    is_remote "$1" && [[ -d $(folder_of "$1") ]] || return 0
    need_program rclone rclone
    remote copy --ignore-existing "$(folder_of "$1")" "$1" || die "rclone could not write to $1"
}

# Removes the files that `place` copied, unless the restore may be committed: then rows may refer to them.
remove_files() {
    [[ $(outcome) == aborted ]] || { say "the bytes of files stay, because the restore may be committed"; return 0; }
    while IFS= read -r path; do rm -f "$path" "$path.part"; done < "$work/placed"
}

# delete_files APP: called when the app's rows are gone. The file `numbers` has the ids of its spaces in analytics.
delete_files() {
    [[ -n $with_files ]] || return 0
    local number
    delete_folder "$files" "app_$1"
    delete_folder "$files" "app_$1_test"
    delete_folder "$analytics_files" "symbols_$1"
    while read -r number; do
        delete_folder "$analytics_files" "crash_$number"
        delete_folder "$analytics_files" "tickets_$number"
    done < "$work/numbers"
}

delete_folder() {
    if is_remote "$1"; then
        need_program rclone rclone
        # rclone reports a missing folder as an error.
        remote purge "$1/$2" < /dev/null 2> /dev/null || [[ -z $(remote lsf "$1/$2" 2> /dev/null < /dev/null) ]] || say "could not delete $1/$2"
    else
        rm -rf "${1:?}/${2:?}"
    fi
}
