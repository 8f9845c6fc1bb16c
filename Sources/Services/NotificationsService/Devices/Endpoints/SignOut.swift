import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /internal/users/sign-out` with `{"app","environment","user","sessions":[…]}`: the sessions have ended, so the
/// user is signed out on every installation that is tied to one of them. Answers `{"signedOut":n}`. Idempotent; for our
/// own services only.
///
/// Installations of the user without a known session are signed out as well. If the user is still signed in there, the
/// app's next `PUT` signs the installation in again.
struct SignOut: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/sign-out")

    private static let maximumSessions = 1_000

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(request, ["app", "environment", "user", "sessions"])
        guard let environment = AppEnvironment(rawValue: try fields.requiredString("environment")) else {
            throw ServiceError(.invalidBody, "Expected an app environment.", field: "environment")
        }
        let userRequest = UserDataRequest(
            app: try fields.requiredString("app"), environment: environment, user: try fields.requiredString("user"))
        let sessions = try (try fields.strings("sessions", upTo: Self.maximumSessions) ?? []).map { text in
            guard let id = UUID(uuidString: text) else {
                throw ServiceError(.invalidBody, "Each session id must be a UUID.", field: "sessions")
            }
            return id
        }
        let (user, space) = try await spaces.owner(of: userRequest)
        return .json(#"{"signedOut":\#(try await store.signOut(user, of: sessions, in: space))}"#)
    }
}

extension InstallationStore {
    /// Signs the user out on the installations of these sessions. Messages queued there that were addressed only to the
    /// user are no longer sent.
    ///
    /// - Returns: The number of installations.
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
