import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /internal/mail/returned` with `{"app","environment","address"}`. Answers `{"isReturned"}`: whether the app's
/// mail to the address hard-bounced.
///
/// Complaints do not count, because they must not block mail that the reader requests, such as a sign-in code. For our
/// own services only.
struct CheckBounce: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/mail/returned")

    let suppressed: SuppressedStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(request, ["app", "environment", "address"])
        guard let environment = AppEnvironment(rawValue: try fields.requiredString("environment")) else {
            throw ServiceError(.invalidBody, "Expected an app environment.", field: "environment")
        }
        let (app, address) = (try fields.requiredString("app"), try fields.requiredString("address"))
        return .json(#"{"isReturned":\#(try await suppressed.hasHardBounce(address, of: app, environment))}"#)
    }
}

extension SuppressedStore {
    /// The app may have no space in this service.
    fileprivate func hasHardBounce(_ address: String, of app: String, _ environment: AppEnvironment) async throws
        -> Bool
    {
        try await !postgres.query(
            """
            SELECT FROM notifications.mail_suppressed AS m JOIN notifications.spaces AS s ON s.id = m.space
            WHERE s.app_id = \(app) AND s.environment = \(environment.rawValue) AND m.address = \(address) AND m.kind = 'hard'
            """
        ).isEmpty
    }
}
