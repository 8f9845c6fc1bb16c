import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Adds the resource use of a process and its machine to the history.
struct RecordUsage: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/status")

    let store: StatusStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let report = try await request.decoded(UsageReport.self)
        guard report.values.count <= UsageReport.maximumValues else {
            throw ServiceError(
                .limitExceeded, "A report may have at most \(UsageReport.maximumValues) values.", field: "values")
        }
        try await store.add(report.values, at: now())
        return .json("{}")
    }
}
