import Testing

/// Tests with the real programs and a real PostgreSQL, always through the real gateway.
///
/// Runs one test at a time: each needs all processes of a server, and many tests kill some of them.
@Suite(.serialized, .timeLimit(.minutes(15)))
struct IntegrationTests {}
