import Testing

/// The real programs, a real PostgreSQL, and everything asked through the real gateway.
///
/// One test after the other: each needs a machine's worth of processes, and many take some of them away.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct IntegrationTests {}
