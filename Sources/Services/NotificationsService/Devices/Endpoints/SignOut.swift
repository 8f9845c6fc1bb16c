import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /internal/users/sign-out` with `{"app","environment","user","sessions":[…]}`: the user's sessions have ended,
/// and where they signed installations in, nobody is signed in any more. Answers `{"signedOut":n}`; harmless to repeat.
/// For our own processes only.
///
/// An installation of the user of which the session is not known goes with any of them: the app signs it in again when
/// it next says anything.
struct SignOut: Endpoint {
    private static let maximumSessions = 1_000

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .service else { throw HTTPProblem(.forbidden) }
        try request.allowParameters()
        let fields = try await BodyFields(request, ["app", "environment", "user", "sessions"])
        guard let environment = AppEnvironment(rawValue: try fields.requiredString("environment")) else {
            throw HTTPProblem(.invalidBody, "This is no environment.", field: "environment")
        }
        let asked = UserDataRequest(
            app: try fields.requiredString("app"), environment: environment, user: try fields.requiredString("user"))
        let sessions = try (try fields.strings("sessions", upTo: Self.maximumSessions) ?? []).map { text in
            guard let id = UUID(uuidString: text) else {
                throw HTTPProblem(.invalidBody, "A session's id is a UUID.", field: "sessions")
            }
            return id
        }
        let (user, space) = try await spaces.owner(of: asked)
        return .json(#"{"signedOut":\#(try await store.signOut(user, of: sessions, in: space))}"#)
    }
}

extension InstallationStore {
    /// Ends what the user's sessions signed in; what is queued for the user alone is not sent there any more.
    ///
    /// - Returns: how many installations.
    func signOut(_ user: String, of sessions: [UUID], in space: Space) async throws -> Int {
        guard !sessions.isEmpty else { return 0 }
        return try await postgres.withTransaction(serializationRetries: 3) { transaction in
            try await transaction.execute(
                """
                WITH ended AS (
                    SELECT id FROM notifications.installations
                    WHERE space = \(space.id) AND user_id = \(user) AND (session_id = ANY (\(sessions)) OR session_id IS NULL)
                    ORDER BY id FOR UPDATE)
                UPDATE notifications.installations AS i SET user_id = NULL, session_id = NULL, updated = now()
                FROM ended WHERE i.space = \(space.id) AND i.id = ended.id
                """)
        }
    }
}
