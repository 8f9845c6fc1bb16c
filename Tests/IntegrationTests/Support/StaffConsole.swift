import Testing

/// The console of staff, which calls the gateway.
struct StaffConsole: Sendable {
    let server: LocalServer

    /// - Parameter path: The part after `/admin/`.
    func send(_ method: String, _ path: String, _ body: String? = nil, as token: String? = nil) async throws -> Reply {
        let headers = token.map { ["authorization": "Bearer \($0)"] } ?? [:]
        return try await Client.send(method, server.connection.url + "/admin/" + path, headers: headers, body)
    }

    func signIn(_ name: String, _ password: String, more: String = "") async throws -> Reply {
        let reply = try await send("POST", "auth/login", #"{"userName":"\#(name)","password":"\#(password)"\#(more)}"#)
        try #require(reply.status == 200, "\(reply)")
        for kind in ["accessToken", "refreshToken"] { server.record(secret: try #require(reply.string(kind))) }
        return reply
    }

    /// The first administrator's token.
    func asAdministrator() async throws -> String {
        let reply = try await signIn(
            server.connection.staffUser, server.connection.staffPassword, more: #","device":"Console""#)
        return try #require(reply.string("accessToken"))
    }
}
