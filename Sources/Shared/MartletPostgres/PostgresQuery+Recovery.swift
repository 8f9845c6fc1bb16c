extension PostgresQuery {
    /// Identifies the cluster and its timeline as text. Transaction numbers are comparable only if it is equal.
    ///
    /// A writable cluster reports the timeline it writes to. `pg_control` shows a new timeline only after the first
    /// checkpoint that follows a promotion; until then, transaction numbers of the old timeline would be mistaken
    /// for those of the new one.
    public static let recoveryTimeline: PostgresQuery = """
        (SELECT system_identifier || '/' || CASE
            WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END FROM pg_control_system())
        """
}
