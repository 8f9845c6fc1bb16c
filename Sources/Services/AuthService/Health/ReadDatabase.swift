import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadDatabase: Endpoint {
    /// Shorter statements have ended before someone reads the answer.
    private static let minimumSeconds = 1.0

    static let route = Route(
        .get, "/admin/database", "readDatabase",
        "Returns the running statements, the largest tables, and figures that warn of an outage.",
        callers: .staff(.read, .status),
        details: """
            `running` has the statements and open transactions that have taken more than a second. The texts of \
            Martlet's statements have placeholders instead of values; those of other roles are left out. `blockers` \
            are the `pid`s of the sessions that hold the lock for which a statement waits.

            OPERATIONS.md says what to do about each figure.
            """,
        answers: [.answer(200, "The state of the database.", .json(.databaseState))])

    let store: StatementStore

    struct State: Encodable {
        var running: [StatementStore.Running]
        var tables: [StatementStore.Table]
        var risks: StatementStore.Risks
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        async let tables = store.largestTables()
        async let risks = store.risks()
        let running = try await store.running(longerThan: Self.minimumSeconds)
        return try .encoding(State(running: running, tables: try await tables, risks: try await risks))
    }
}

extension Schema {
    fileprivate static let databaseState: Schema = component(
        "DatabaseState",
        .object(
            [
                "running": .array(
                    of: .object(
                        [
                            "pid": .integer,
                            "role": .string,
                            "state": .string.described("`active`, or a state such as `idle in transaction`."),
                            "seconds": .number.described("Since the statement, or the open transaction, began."),
                            "waitsFor": .string.described("The kind and name of PostgreSQL's wait event."),
                            "blockers": .array(of: .integer),
                            "statement": .string,
                        ], required: ["pid", "role", "state", "seconds", "blockers"])
                ).described("The longest first, at most 50."),
                "tables": .array(
                    of: .object(
                        [
                            "name": .string,
                            "sizeInBytes": .integer.described("With indexes and large values."),
                            "indexSizeInBytes": .integer,
                            "liveRows": .integer.described("An estimate."),
                            "deadRows": .integer.described("An estimate of the rows that vacuum has yet to remove."),
                            "lastVacuum": .time,
                            "transactionAge": .integer.described("Transactions since its oldest row was frozen."),
                        ],
                        required: [
                            "name", "sizeInBytes", "indexSizeInBytes", "liveRows", "deadRows", "transactionAge",
                        ])
                ).described("The largest first, at most 30."),
                "risks": .object(
                    [
                        "connections": .integer,
                        "maximumConnections": .integer,
                        "transactionAge": .integer.described("PostgreSQL stops writing shortly before 2147483648."),
                        "archiveFails": .boolean.described("The last attempt to archive WAL failed."),
                        "slotSizeInBytes": .integer.described("WAL that is kept for a replication slot."),
                        "oldestJobsInSeconds": .map(of: .number).described(
                            "By service, how long the job that was due first has waited."),
                    ],
                    required: [
                        "connections", "maximumConnections", "transactionAge", "archiveFails", "slotSizeInBytes",
                        "oldestJobsInSeconds",
                    ]),
            ], required: ["running", "tables", "risks"]))
}
