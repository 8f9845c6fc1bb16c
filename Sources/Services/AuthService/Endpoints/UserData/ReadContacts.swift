import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `POST /internal/users/contacts` with `MailContacts.Request`: 200 with `MailContacts`. For our own processes only.
struct ReadContacts: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/contacts")

    let users: UserStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let asked = try await request.decoded(MailContacts.Request.self)
        guard asked.users.count <= MailContacts.Request.maximumUsers else {
            throw HTTPProblem(.limitExceeded, field: "users")
        }
        guard let app = try await apps.find(asked.app) else { return try .encoding(MailContacts(app: nil, users: [])) }
        // What is no id is nobody's.
        let ids = asked.users.compactMap { UUID(uuidString: $0) }
        let space = UserSpace(appID: asked.app, environment: asked.environment)
        return try .encoding(MailContacts(app: app.name, users: try await users.contacts(ids, in: space)))
    }
}
