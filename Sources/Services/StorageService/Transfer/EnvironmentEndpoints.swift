import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Keeps clients out of the copy until `OpenEnvironment`, because people who cannot sign up in live may be able to in
/// test. An app can have one waiting or running copy at a time; another is a `conflict`.
struct StartEnvironmentCopy: Endpoint {
    static let route = Route(
        .post, "/environment/copy", "copyEnvironment",
        """
        Starts a job that replaces the test data with a copy of the live data. Needs a live key. Clients cannot \
        access the copy until `openEnvironment` admits them.
        """, callers: .manager(.update, .storage), needsConfirmation: true,
        answers: [
            .answer(202, "The job.", .json(.job))
        ])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.liveSpace
        var options = transfers.options(space)
        options.uniqueKey = space.appID
        guard let job = try await transfers.jobs.enqueue(CopyEnvironment.self, .init(appID: space.appID), options)
        else {
            throw ServiceError(.conflict, "A copy for this app is already waiting or running.")
        }
        return try await .job(job, transfers, space, status: .accepted)
    }
}

/// Needs a live key because test may contain live data.
///
/// Takes effect immediately in this copy of the service and within a second in the others.
struct OpenEnvironment: Endpoint {
    static let route = Route(
        .put, "/environment", "openEnvironment",
        """
        Opens the test environment to clients after a copy, or closes it. Needs a live key.
        """, callers: .manager(.update, .storage), needsConfirmation: true,
        body: .json(
            .object(
                [
                    "open": .boolean
                ], required: ["open"]
            ).closed),
        answers: [
            .answer(
                200, "The new state.",
                .json(
                    .object(
                        [
                            "open": .boolean
                        ], required: ["open"]
                    ).closed))
        ],
        errors: [400: "`open` is missing or not a boolean (`invalid-body`)."])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let test = try SpaceName(appID: context.liveSpace.appID, environment: .test).space
        guard let isOpen = try await BodyFields(request, ["open"]).flag("open") else {
            throw ServiceError(.invalidBody, "Expected true or false, found nothing.", field: "open")
        }
        let closed = try test.own("_closed")
        try await transfers.spaces.prepare(test)
        try await transfers.postgres.withTransaction(role: test.role) { transaction in
            try await transaction.execute("LOCK TABLE \(closed) IN SHARE ROW EXCLUSIVE MODE")
            try await transaction.execute("DELETE FROM \(closed)")
            if !isOpen { try await transaction.execute("INSERT INTO \(closed) DEFAULT VALUES") }
            try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(test.schema))")
        }
        transfers.rights.forgetAll()
        transfers.signal.written(in: test)
        return .json(#"{"open":\#(isOpen)}"#)
    }
}

extension ServiceContext {
    /// The live environment, for calls that make its data visible in test. A test key is not enough for them.
    ///
    /// - Throws: `forbidden`.
    fileprivate var liveSpace: AppSchema {
        get throws {
            let space = try space
            guard space.environment == .live else {
                throw ServiceError(
                    .forbidden,
                    "This call needs a live key without X-Martlet-Environment: test, as it shows live data in test."
                )
            }
            return space
        }
    }
}

/// Empties test even if the request is for live. Cancels unfinished builds of its indexes first.
struct WipeEnvironment: Endpoint {
    static let route = Route(
        .delete, "/environment", "wipeEnvironment", "Deletes all data of the test environment.",
        callers: .manager(.delete, .storage), needsConfirmation: true,
        answers: [
            .answer(204, "The test environment is empty.")
        ])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let test = try SpaceName(appID: context.space.appID, environment: .test).space
        try await transfers.spaces.prepare(test)
        try await transfers.builds.stop(of: test)
        try await transfers.postgres.withTransaction(role: test.role) {
            // Triggers do not see tables that are dropped or emptied.
            _ = try await $0.query(
                "SELECT storage.record_index('wipe-environment', \(test.schema), 'environment', 'test')")
            try await EnvironmentCopy.dropCollections(of: test, in: $0)
            // Users belong to auth and are kept.
            try await $0.execute(
                """
                INSERT INTO \(try test.own("_collections")) (name, rules)
                VALUES (\(CollectionName.users.text), \(PostgresJSON(CollectionRules.ofUsers.json.text)))
                """)
        }
        transfers.rights.forgetAll()
        transfers.signal.written(in: test)
        _ = try await transfers.postgres.query("SELECT pg_notify(\(RightsStore.channel), \(test.schema))")
        return Response(status: .noContent)
    }
}
