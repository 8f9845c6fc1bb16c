import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// The e-mail addresses of an app's users, for other processes that send them mail.
struct ReadContacts: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/contacts")

    let users: UserStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await request.decoded(MailContacts.Request.self)
        guard body.users.count <= MailContacts.Request.maximumUsers else {
            throw ServiceError(.limitExceeded, field: "users")
        }
        guard let app = try await apps.find(body.app) else { return try .encoding(MailContacts(app: nil, users: [])) }
        // Malformed ids belong to no user.
        let ids = body.users.compactMap { UUID(uuidString: $0) }
        let space = AppSpace(appID: body.app, environment: body.environment)
        return try .encoding(MailContacts(app: app.name, users: try await users.contacts(ids, in: space)))
    }
}
