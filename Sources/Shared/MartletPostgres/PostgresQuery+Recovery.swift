extension PostgresQuery {
    /// Names the cluster and its line of recovery (timeline), as text: transaction numbers of another one mean something else.
    ///
    /// A cluster that writes names the timeline it writes on; `pg_control` says it only after the first checkpoint behind a promotion, and
    /// until then numbers of the old line would be taken for the new one's.
    public static let lineOfRecovery: PostgresQuery = """
        (SELECT system_identifier || '/' || CASE
            WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END FROM pg_control_system())
        """
}
