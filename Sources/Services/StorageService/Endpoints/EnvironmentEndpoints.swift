import Hummingbird
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// `POST /environment/copy`: puts a copy of the live data in place of the test data, by a job, 202 with it; master key,
/// with a live key.
///
/// Clients are kept out of the copy until `OpenEnvironment`: test may let people sign up who could not sign up in live.
/// An app can have one copy waiting or running at a time; another is 409.
struct StartEnvironmentCopy: Endpoint {
    static let route = Route(
        .post, "/environment/copy", "copyEnvironment",
        """
        Puts a copy of the live data in place of the test data, by a job. Needs a live key; clients are kept \
        out until openEnvironment.
        """, callers: .server,
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
            throw HTTPProblem(.conflict, "A copy of this app waits or runs.")
        }
        return try await .job(job, transfers, space, status: .accepted)
    }
}

/// `PUT /environment` with `{"open":true}`: lets clients into the test environment after a copy, or with `false` keeps
/// them out; 200 with the same. Master key, with a live key, because test may hold live's data.
///
/// In force at once in this copy of the service and within a second in the others.
struct OpenEnvironment: Endpoint {
    static let route = Route(
        .put, "/environment", "openEnvironment",
        """
        Lets clients into the test environment after a copy, or keeps them out. Needs a live key.
        """, callers: .server,
        body: .json(
            .object(
                [
                    "open": .boolean
                ], required: ["open"]
            ).closed),
        answers: [
            .answer(
                200, "The same.",
                .json(
                    .object(
                        [
                            "open": .boolean
                        ], required: ["open"]
                    ).closed))
        ],
        errors: [400: "`open` is missing or not a boolean."])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let test = try SpaceName(appID: context.liveSpace.appID, environment: .test).space
        guard let isOpen = try await BodyFields(request, ["open"]).flag("open") else {
            throw HTTPProblem(.invalidBody, "Expected true or false.", field: "open")
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
    /// The live environment, for calls that show its data elsewhere; a test key opens none of it.
    ///
    /// - Throws: `forbidden`.
    fileprivate var liveSpace: AppSpace {
        get throws {
            let space = try managedSpace
            guard space.environment == .live else {
                throw HTTPProblem(
                    .forbidden,
                    "This call needs a live key, and no X-Martlet-Environment: test, as it shows live data in test.")
            }
            return space
        }
    }
}

/// `DELETE /environment`: empties the test environment, whatever environment the request is for, 204; master key.
struct WipeEnvironment: Endpoint {
    static let route = Route(
        .delete, "/environment", "wipeEnvironment", "Empties the test environment.", callers: .server,
        answers: [
            .answer(204, "It is empty.")
        ])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let test = try SpaceName(appID: context.managedSpace.appID, environment: .test).space
        try await transfers.spaces.prepare(test)
        try await transfers.builds.stop(of: test)
        try await transfers.postgres.withTransaction(role: test.role) {
            try await EnvironmentCopy.dropCollections(of: test, in: $0)
        }
        transfers.rights.forgetAll()
        transfers.signal.written(in: test)
        _ = try await transfers.postgres.query("SELECT pg_notify(\(RightsStore.channel), \(test.schema))")
        return Response(status: .noContent)
    }
}
