import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /internal/mail/returned` with `{"app","environment","address"}`: whether the app's mail came back from there
/// because there is no such mailbox, `{"isReturned":…}`. A complaint is no reason not to mail what the reader asks for,
/// such as a code to sign in. For our own processes only.
struct IsMailReturned: Endpoint {
    let suppressed: SuppressedStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .service else { throw HTTPProblem(.forbidden) }
        try request.allowParameters()
        let fields = try await BodyFields(request, ["app", "environment", "address"])
        guard let environment = AppEnvironment(rawValue: try fields.requiredString("environment")) else {
            throw HTTPProblem(.invalidBody, "This is no environment.", field: "environment")
        }
        let (app, address) = (try fields.requiredString("app"), try fields.requiredString("address"))
        return .json(#"{"isReturned":\#(try await suppressed.hasHardBounce(address, of: app, environment))}"#)
    }
}

extension SuppressedStore {
    /// Of an app that may have no space here.
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
