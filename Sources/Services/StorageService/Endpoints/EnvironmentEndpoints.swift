import Hummingbird
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres

/// `POST /environment/copy`: puts a copy of the live data in place of the test data, by a job, 202 with it; master key.
///
/// One copy of an app waits or runs at a time; a further one is 409.
struct StartEnvironmentCopy: Endpoint {
    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let space = try context.managedSpace
        try await request.allowNoBody()
        var options = transfers.options(space)
        options.uniqueKey = space.appID
        guard let job = try await transfers.jobs.enqueue(CopyEnvironment.self, .init(appID: space.appID), options) else {
            throw HTTPProblem(.conflict, "A copy of this app waits or runs.")
        }
        return try await .job(job, transfers, space, status: .accepted)
    }
}

/// `DELETE /environment`: empties the test environment, whatever environment the request is for, 204; master key.
struct WipeEnvironment: Endpoint {
    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let test = try SpaceName(appID: context.managedSpace.appID, environment: .test).space
        try await transfers.spaces.prepare(test)
        try await transfers.builds.stop(of: test)
        try await transfers.postgres.withTransaction(role: test.role) { try await EnvironmentCopy.dropCollections(of: test, in: $0) }
        transfers.rights.forgetAll()
        transfers.signal.written(in: test)
        _ = try await transfers.postgres.query("SELECT pg_notify(\(RightsStore.channel), \(test.schema))")
        return Response(status: .noContent)
    }
}
