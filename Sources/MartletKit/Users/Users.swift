extension Martlet {
    /// The people who use the app: signing in, the signed-in user's account, sessions.
    public var users: Users { Users(api: api, session: session) }

    /// Functions of the app's own server, called through Martlet.
    public var functions: Functions { Functions(api: api) }
}

/// Signs users in and out, and manages the signed-in user's account.
///
/// ```swift
/// try await martlet.users.signUp(email: "ada@example.org", password: "correct horse")
/// let ada = try await martlet.users.signIn(with: .password("correct horse", email: "ada@example.org"))
/// try await martlet.users.update(profile: ["city": "Bern"])
/// try await martlet.users.signOut()
/// ```
///
/// The session is kept in the ``SessionStore`` and renewed when needed, once for all calls that wait for it. After
/// signing in, all other calls of the client are made as that user.
public struct Users: Sendable {
    let api: APIClient
    let session: SessionKeeper

    /// The signed-in user as last returned by the server; nil if nobody is signed in. Needs no connection.
    public var current: User? {
        get async throws { try await session.current()?.user }
    }

    /// A valid access token, to prove to your own server who the user is; nil if nobody is signed in.
    public var accessToken: String? {
        get async throws { try await session.valid(by: api)?.accessToken }
    }

    /// Who is signed in: the present state at once, then each later one. For example, to choose the app's first screen.
    public func states() -> AsyncStream<SignInState> {
        let (stream, continuation) = AsyncStream<SignInState>.makeStream(bufferingPolicy: .bufferingNewest(16))
        let task = Task {
            for await state in await session.states() { continuation.yield(state) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    // MARK: The account

    /// Loads the signed-in user again.
    @discardableResult
    public func refresh() async throws -> User { try await user(call("GET", "auth/me")) }

    /// Changes the signed-in user. Nil arguments leave the stored value unchanged; others replace it completely.
    ///
    /// - Parameter password: Needed to change the name, if the user has a password.
    @discardableResult
    public func update(
        profile: JSON? = nil, private: JSON? = nil, userName: String? = nil, password: String? = nil
    ) async throws -> User {
        let body = JSON.members([
            "profile": profile, "private": `private`, "userName": userName.map(JSON.string),
            "password": password.map(JSON.string),
        ])
        return try await user(call("PATCH", "auth/me", body))
    }

    /// What everybody may see of a user; nil if there is none.
    public func user(id: String) async throws -> User? {
        do {
            return try await api.json(APIRequest("GET", "auth/users/" + APIRequest.escape(id))).decoded(as: User.self)
        } catch let error as MartletError where error.isNotFound || error.code == .invalidID {
            return nil
        }
    }

    /// The signed-in user's roles, including those inherited from other roles.
    public func roles() async throws -> [String] {
        try await call("GET", "auth/me/roles")["data"]?.arrayValue?.compactMap(\.stringValue) ?? []
    }

    /// Blocks another user for the signed-in user. The app's rules determine what that hides.
    public func block(_ user: String) async throws {
        _ = try await call("PUT", "auth/me/blocks/" + APIRequest.escape(user))
    }

    public func unblock(_ user: String) async throws {
        _ = try await call("DELETE", "auth/me/blocks/" + APIRequest.escape(user))
    }

    /// The ids of the users whom the signed-in user has blocked, latest first.
    public func blocked() async throws -> [String] {
        try await call("GET", "auth/me/blocks")["data"]?.arrayValue?.compactMap { $0["user"]?.stringValue } ?? []
    }

    /// Changes the password, and ends all other sessions.
    public func changePassword(from password: String, to newPassword: String) async throws {
        _ = try await call(
            "PUT", "auth/me/password", ["password": .string(password), "newPassword": .string(newPassword)])
    }

    // MARK: Calls

    /// A call as the signed-in user.
    func call(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        var request = APIRequest(method, path, json: body)
        request.caller = .user
        return try await api.json(request)
    }

    /// The elements of a list that belongs to the signed-in user.
    func list<Element: Decodable>(_ path: String) async throws -> [Element] {
        try await call("GET", path)["data"]?.decoded(as: [Element].self) ?? []
    }

    /// A call as the app. Any proof of identity is in the body.
    func callAsApp(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        var request = APIRequest(method, path, json: body)
        request.caller = .app
        return try await api.json(request)
    }

    /// Stores the user in the answer as the signed-in user.
    func user(_ answer: JSON) async throws -> User {
        let user = try answer.decoded(as: User.self)
        try await session.update(user)
        return user
    }

    /// Begins the session contained in the answer.
    func begin(_ answer: JSON) async throws -> User {
        let session = try Session(signIn: answer, now: api.configuration.clock.now())
        try await self.session.begin(session)
        api.configuration.log(.info, "A user signed in")
        return session.user
    }

    var deviceName: JSON? { api.configuration.deviceName.map(JSON.string) }
}

extension JSON {
    /// An object of the members that are not nil.
    static func members(_ members: [String: JSON?]) -> JSON { .object(members.compactMapValues { $0 }) }
}

/// Calls functions: hooks of the app's own server.
public struct Functions: Sendable {
    let api: APIClient

    /// Calls a function with any `Codable` value, and reads its result.
    ///
    /// A call is never repeated unless it was certainly not carried out.
    public func call<Parameters: Encodable, Result: Decodable>(
        _ name: String, with parameters: Parameters, as type: Result.Type = Result.self
    ) async throws -> Result {
        let request = APIRequest("POST", "functions/" + APIRequest.escape(name), json: try JSON(encoding: parameters))
        let answer = try await api.json(request)
        return try (answer["result"] ?? .null).decoded(as: type, tolerance: api.configuration.tolerance)
    }
}
