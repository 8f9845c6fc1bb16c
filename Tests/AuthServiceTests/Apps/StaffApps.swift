import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// The apps of a server, managed by a staff member through the gateway.
struct StaffApps: Sendable {
    let auth: AuthApp
    var staff = StaffGrant(id: UUID().uuidString.lowercased(), userName: "ada", isAdministrator: true, confirmed: .now)

    static func run(store: StoreSettings = StoreSettings(), _ body: @Sendable (StaffApps) async throws -> Void)
        async throws
    {
        try await AuthApp.run(store: store) { try await body(StaffApps(auth: $0)) }
    }

    /// Another member, who is not an administrator.
    func member(_ rights: [String: StaffRights.Areas]) -> StaffApps {
        StaffApps(
            auth: auth,
            staff: StaffGrant(
                id: UUID().uuidString.lowercased(), userName: "eve", rights: StaffRights(rights), confirmed: .now))
    }

    /// - Parameter path: The part after `/admin/apps`.
    func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Answer {
        try await send(method, path, bytes: body.map { Array($0.utf8) })
    }

    func send(_ method: String, _ path: String, bytes: [UInt8]?, headers: [String: String] = [:]) async throws -> Answer
    {
        let principal = Principal(
            kind: .staff, appID: "", appNumber: 0, environment: .live, credentialID: staff.id, staff: staff)
        var headers = headers
        headers[HeaderName.address] = "0:ffff7f000001"
        if let bytes { headers["content-length"] = String(bytes.count) }
        return try await auth.gateway.acting(as: principal).send(
            method, "/admin/apps" + path, bytes: bytes, headers: headers)
    }

    /// Creates an app and returns its id.
    func make(_ name: String = "Shop", more: String = "") async throws -> String {
        let answer = try await send("POST", "", #"{"name":"\#(name)"\#(more)}"#)
        try #require(answer.status == 201, "\(answer)")
        return try #require(answer.string("app.id"))
    }

    /// The audit log as lines such as `ada update b a`: the member, the action, and whether the entry has the contents
    /// before it (`b` or `-`) and after it (`a` or `-`).
    func audit() async throws -> [String] {
        try await auth.postgres.query(
            """
            SELECT concat_ws(' ', staff_name, action, CASE WHEN before IS NULL THEN '-' ELSE 'b' END, CASE WHEN after IS NULL THEN '-' ELSE 'a' END)
            FROM auth.audit_log ORDER BY number
            """
        ).map { try $0.decode(0) }
    }

    /// The whole audit log as text.
    func auditText() async throws -> String {
        try await auth.postgres.query("SELECT coalesce(string_agg(l::text, '|'), '') FROM auth.audit_log AS l")[0]
            .decode(0)
    }

    /// All rows of the tables of apps as text, to show that nothing was written.
    func state() async throws -> String {
        try await auth.postgres.query(
            """
            SELECT concat_ws('#', (SELECT string_agg(a::text, '|' ORDER BY id) FROM auth.apps AS a),
                (SELECT string_agg(md5(i::text), '|' ORDER BY app_id) FROM auth.app_icons AS i),
                (SELECT string_agg(v::text, '|' ORDER BY id) FROM auth.app_versions AS v),
                (SELECT string_agg(md5(p::text), '|' ORDER BY id) FROM auth.version_pictures AS p),
                (SELECT string_agg(c::text, '|' ORDER BY id) FROM auth.credentials AS c),
                (SELECT count(*) FROM auth.audit_log))
            """)[0].decode(0)
    }
}

/// The smallest pictures that pass the checks.
enum SamplePicture {
    static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array(repeating: 7, count: 40)
    static let jpeg: [UInt8] = [0xff, 0xd8, 0xff, 0xe0] + Array(repeating: 8, count: 40)
    static let webp: [UInt8] =
        Array("RIFF".utf8) + [40, 0, 0, 0] + Array("WEBPVP8 ".utf8) + Array(repeating: 9, count: 24)
    static let gif: [UInt8] = Array("GIF89a".utf8) + Array(repeating: 1, count: 40)
    static let svg: [UInt8] = Array(#"<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>"#.utf8)
}

extension Answer {
    /// The strings of a member in all objects of `data`.
    func all(_ member: String) -> [String] {
        guard case .array(let objects) = json?["data"] else { return [] }
        return objects.compactMap { if case .string(let text) = $0[member] { text } else { nil } }
    }
}

extension Int64 {
    /// Seconds since 1970, as of a confirmation just now.
    static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
