import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /notifications/installations`: a page ordered by id, with the parameters of `InstallationFilter`, `limit` and
/// `cursor`.
struct ListInstallations: Endpoint {
    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        try request.allowParameters(InstallationFilter.parameters.union(["limit", "cursor"]))
        let limit = try request.number("limit", default: 100, in: 1...500)
        let page = try await store.list(
            InstallationFilter(request), in: space, after: try request.id("cursor"), limit: limit)
        return .page(page.map(\.json.text), next: page.count == limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

/// `GET /notifications/installations/counts` with the parameters of `InstallationFilter`.
struct CountInstallations: Endpoint {
    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        try request.allowParameters(InstallationFilter.parameters)
        return try .list(try await store.count(InstallationFilter(request), in: space))
    }
}

/// `GET /notifications/installations/{id}`
struct ReadManagedInstallation: Endpoint {
    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        try request.allowParameters()
        guard let installation = try await store.read(try context.installationID, in: space.id) else {
            throw HTTPProblem(.installationNotFound)
        }
        return .json(installation.json.text)
    }
}

/// `DELETE /notifications/installations/{id}`: 204. The app can register the installation again.
struct DeleteManagedInstallation: Endpoint {
    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, spaces)
        try request.allowParameters()
        guard try await store.delete(try context.installationID, in: space.id) else {
            throw HTTPProblem(.installationNotFound)
        }
        return Response(status: .noContent)
    }
}
