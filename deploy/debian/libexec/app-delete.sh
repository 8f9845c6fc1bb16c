# shellcheck shell=bash
# Deletes an app. Sourced by `app`, not run.
# shellcheck disable=SC2154  # `work`, `archives` and the options are set by `app`

# delete APP FILE: for good, after a last archive.
delete() {
    local app=$1 environments='live test' out_of_use kept
    check_app_id "$app"
    connect
    out_of_use=$(query "SELECT archived < now() - interval '7 days' FROM auth.apps WHERE id = '$app' AND archived IS NOT NULL")
    [[ $out_of_use == t || -n $now && $out_of_use == f ]] ||
        die "app $app must be out of use (POST /admin/apps/$app/archive) for 7 days, or --now"
    back_up "$app" "$2"
    kept=$(entries "$app" | jq -r 'map(select(.result == "good").id) | join(" ")')
    [[ -z $kept ]] || say "archives of $app stay in $archives${copy_apps_to:+ and $copy_apps_to}: $kept
to delete one: martlet app backups delete ID"
    confirm "Delete the app $app and all its data? The archive $2${kept:+, those above} and $key are then all that is left of it."
    {
        begin_script
        lock_analytics
        for name in $environments; do fill "$app" "$name" < "$scripts/app-delete.sql"; done
        echo "SET LOCAL session_replication_role = replica;"
        delete_rows "$app" 'replace clear merge same'
        read_json "$work/tables.json" 'sort_by(-.level)[] | select(.policy == "app") | "DELETE FROM \(.quoted) WHERE \(.condition);"' | fill "$app" live
        echo "DROP SCHEMA IF EXISTS app_$app, app_${app}_test CASCADE;"
        for name in "app_$app" "app_${app}_test" "app_${app}_copy"; do drop_role "$name"; done
        echo "UPDATE auth.key_ring SET version = version + 1; NOTIFY martlet_key_ring;"
        echo "COMMIT;"
    } > "$work/delete.sql"
    query "SELECT id FROM analytics.spaces WHERE app_id = '$app'" > "$work/numbers"
    (cd "$work" && database -f delete.sql > /dev/null) || [[ $(outcome) == committed ]] ||
        die "nothing was deleted, or the connection was lost just then (see: martlet app list)"
    delete_files "$app"
    [[ ! -e $units/martlet-backup@app-$app.timer ]] || unschedule "$app"
    say "deleted $app; its archive is $2"
}

# A role that another database of the cluster uses stays.
drop_role() {
    echo "DO \$\$ BEGIN DROP OWNED BY $1; DROP ROLE $1; EXCEPTION WHEN undefined_object OR dependent_objects_still_exist THEN END \$\$;"
}
