import Foundation

/// Keeps the session and renews it, once for all waiting callers.
package actor SessionKeeper {
    private let configuration: Martlet.Configuration
    private var session: Session?
    private var isLoaded = false
    private var renewal: Task<Session?, any Error>?
    private let observers = Observers<SignInState>()

    init(_ configuration: Martlet.Configuration) { self.configuration = configuration }

    /// The session, loaded from the store the first time.
    package func current() throws -> Session? {
        if !isLoaded {
            session = try inStore { try $0.load() }
            isLoaded = true
        }
        return session
    }

    /// Stores the session before anybody uses it.
    func begin(_ session: Session) throws {
        try inStore { try $0.save(session) }
        renewal = nil
        self.session = session
        isLoaded = true
        observers.yield(.signedIn(session.user))
    }

    /// Stores the server's latest answer about the signed-in user.
    func update(_ user: User) throws {
        guard var session = try current(), session.user.id == user.id, session.user != user else { return }
        session.user = user
        try inStore { try $0.save(session) }
        self.session = session
        observers.yield(.signedIn(user))
    }

    func end(_ reason: SignInState.Reason) throws {
        let hadSession = try current() != nil
        renewal = nil
        session = nil
        try inStore { try $0.clear() }
        if hadSession { observers.yield(.signedOut(reason)) }
    }

    /// Thrown once by a user's call when the session has ended, so that the call is not sent as the app.
    package static var ended: MartletError { MartletError(.notSignedIn, "The session has ended.") }

    /// The session with a token that is valid for at least some seconds; nil if nobody is signed in.
    ///
    /// - Throws: `ended` if it turns out to have ended.
    func valid(by api: APIClient) async throws -> Session? {
        guard let session = try current() else { return nil }
        guard session.accessTokenExpires.timeIntervalSince(configuration.clock.now()) < 20 else { return session }
        return try await renewed(session, by: api)
    }

    /// Called when the server refuses a session's token. Does nothing if it has been replaced meanwhile.
    ///
    /// - Throws: `ended` if the session has ended.
    func renew(_ refused: Session, by api: APIClient) async throws {
        guard let session = try current() else { throw Self.ended }
        guard session.accessToken == refused.accessToken else { return }
        _ = try await renewed(session, by: api)
    }

    /// The sign-in states, beginning with the present one.
    func states() -> AsyncStream<SignInState> {
        let (stream, continuation) = AsyncStream<SignInState>.makeStream(bufferingPolicy: .bufferingNewest(16))
        observers.add(continuation)
        let session = try? current()
        continuation.yield(session.map { .signedIn($0.user) } ?? .signedOut(.notSignedIn))
        return stream
    }

    private func renewed(_ session: Session, by api: APIClient) async throws -> Session {
        // Somebody else may have signed in meanwhile: the call must not be made as that user.
        guard let renewed = try await renewal(of: session, by: api), renewed.user.id == session.user.id else {
            throw Self.ended
        }
        return renewed
    }

    private func renewal(of session: Session, by api: APIClient) async throws -> Session? {
        if let renewal { return try await renewal.value }
        // A separate task, so that it continues for the other callers when the first one is cancelled.
        let task = Task { try await self.exchange(session, by: api) }
        renewal = task
        defer { if renewal == task { renewal = nil } }
        return try await task.value
    }

    /// Exchanges the refresh token. The server accepts the token once, and then for ten more seconds in case the
    /// exchange has to be repeated.
    private func exchange(_ session: Session, by api: APIClient) async throws -> Session? {
        // Another process that shares the store may have been faster.
        if let stored = try inStore({ try $0.load() }), stored.refreshToken != session.refreshToken,
            stored.user.id == session.user.id
        {
            self.session = stored
            return stored
        }
        var request = APIRequest("POST", "auth/refresh", json: ["refreshToken": .string(session.refreshToken)])
        request.caller = .app
        request.timeout = min(configuration.timeout, 4)
        request.repetition = .idempotent
        request.maximumAttempts = 2
        do {
            let answer = try await api.json(request)
            let renewed = try Session(signIn: answer, now: configuration.clock.now())
            // Somebody signed in or out meanwhile.
            guard self.session?.refreshToken == session.refreshToken else { return self.session }
            try inStore { try $0.save(renewed) }
            self.session = renewed
            configuration.log(.debug, "Renewed the session")
            return renewed
        } catch let error as MartletError where error.status == 401 || error.status == 403 {
            guard self.session?.refreshToken == session.refreshToken else { return self.session }
            configuration.log(.info, "The session has ended", ["error.code": error.code.rawValue])
            try end(.sessionEnded)
            return nil
        }
    }

    private func inStore<Result>(_ body: (any SessionStore) throws -> Result) throws -> Result {
        do {
            return try body(configuration.sessionStore)
        } catch let error as MartletError {
            throw error
        } catch {
            throw MartletError(
                .sessionStoreFailed, "The session store failed: \(error.localizedDescription)", underlyingError: error)
        }
    }
}

/// Whether somebody is signed in.
public enum SignInState: Sendable, Hashable {
    public enum Reason: Sendable, Hashable {
        /// Nobody has signed in on this device yet, or its data was cleared.
        case notSignedIn
        /// The user signed out here.
        case signedOut
        /// The session ended elsewhere: signed out everywhere, password changed, account disabled, or unused for a long
        /// time.
        case sessionEnded
        /// The account was deleted.
        case accountDeleted
    }

    case signedIn(User)
    case signedOut(Reason)
}

extension Session {
    /// The answer of every call that signs in.
    init(signIn answer: JSON, now: Date) throws {
        guard let accessToken = answer["accessToken"]?.stringValue,
            let refreshToken = answer["refreshToken"]?.stringValue,
            let seconds = answer["expiresIn"]?.doubleValue, let user = answer["user"]
        else { throw MartletError(.unexpectedAnswer, "The answer to a sign-in has no tokens.") }
        self.init(
            user: try user.decoded(as: User.self), accessToken: accessToken,
            accessTokenExpires: now.addingTimeInterval(seconds), refreshToken: refreshToken)
    }
}
