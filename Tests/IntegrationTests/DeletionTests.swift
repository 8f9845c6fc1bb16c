import Foundation
import Glibc
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

extension IntegrationTests {
    /// Deleted users leave nothing behind.
    @Suite(.localServer)
    struct DeletionTests {
        private static let objects = 5_000

        let server: LocalServer
        let client: Client
        let master: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
            master = .master(server.connection)
        }

        /// A user with many objects of their own, a shared one, a role and a file.
        private func user(_ name: String) async throws -> (id: String, client: Client) {
            let tokens = try await client.post(
                "auth/signup", #"{"userName":"\#(name)","email":"\#(name)@example.org","password":"correct horse"}"#)
            try #require(tokens.status == 201, "\(tokens)")
            let (token, id) = (try #require(tokens.string("accessToken")), try #require(tokens.string("user.id")))
            for secret in [token, "correct horse"] { server.record(secret: secret) }
            let asUser = client.adding("authorization", "Bearer \(token)")
            for start in stride(from: 0, to: Self.objects, by: 500) {
                let objects = (start..<start + 500).map {
                    #"{"_id":"\#(name)\#($0)","n":\#($0),"_writers":["\#(id)"]}"#
                }.joined(separator: ",")
                #expect(try await asUser.post("storage/all/Diary", "[\(objects)]").status == 201)
            }
            #expect(
                try await asUser.post("storage/Diary", #"{"_id":"\#(name)-shared","_writers":["\#(id)","other"]}"#)
                    .status == 201)
            #expect(try await master.send("PUT", "roles/team", #"{"add":["\#(id)"]}"#).status == 204)
            #expect(try await asUser.send("PUT", "upload/\(name)/a.txt", "text").status == 201)
            return (id, asUser)
        }

        /// Rows of the app's tables that name the user, except the log of changes, which expires by itself, and the
        /// empty removed object of `_User`, which is deleted after a day.
        private func traces(of id: String) async throws -> [String] {
            try await server.withDatabase { database in
                let tables = try await database.query(
                    """
                    SELECT schemaname::text, tablename::text FROM pg_tables
                    WHERE (schemaname LIKE 'app\\_%' OR schemaname = 'auth') AND tablename NOT IN ('_changes', 'jobs')
                    """)
                var found: [String] = []
                for row in tables {
                    let (schema, table): (String, String) = (try row.decode(0), try row.decode(1))
                    let name = try #require(PostgresIdentifier(schema: schema, name: table))
                    let isLeft: PostgresQuery = table == "_User" ? "(t.deleted IS NULL OR t.doc <> '{}')" : "TRUE"
                    let rows = try await database.query(
                        "SELECT t::text FROM \(name) AS t WHERE t::text LIKE \("%\(id)%") AND \(isLeft) LIMIT 1")
                    found += try rows.map { "\(schema).\(table): \(try $0.decode(0, as: String.self))" }
                }
                return found
            }
        }

        @Test func `A deletion completes and leaves nothing behind although storage and auth die in the middle`()
            async throws
        {
            let (id, asUser) = try await user("anna")
            let (otherID, asOther) = try await user("berta")
            #expect(try await !traces(of: id).isEmpty)
            var deletion = try await asUser.send("DELETE", "auth/me", #"{"password":"wrong horse"}"#)
            #expect(deletion.isProblem(.signInFailed))
            try await server.withoutSupervisor {
                try server.signal("storage", SIGKILL)
                deletion = try await asUser.send("DELETE", "auth/me", #"{"password":"correct horse"}"#)
                try server.signal("auth", SIGKILL)
            }
            #expect(deletion.status == 202, "\(deletion)")
            let token = try #require(deletion.string("token"))
            server.record(secret: token)
            let reader = client.adding(HeaderName.receiptToken, token)
            let path = "auth/receipts/\(try #require(deletion.string("id")))"
            var isKilledAgain = false
            var receipt = deletion
            try await eventually("the deletion is complete", within: .seconds(240)) {
                receipt = try await reader.get(path)
                if !isKilledAgain, receipt["erased.storage"] != nil, receipt.string("state") == "erasing" {
                    isKilledAgain = true
                    try server.signal("storage", SIGKILL)
                    try server.signal("auth", SIGKILL)
                }
                return receipt.string("state") == "complete"
            }
            #expect(receipt["erased.auth.accounts"] == "1" && !receipt.text.contains(id), "\(receipt)")
            // The last message to storage names the user until it has arrived.
            try await eventually("nothing is left") { try await traces(of: id) == [] }
            #expect(try await master.get("storage/Diary/anna-shared")["_writers"] == #"["other"]"#)
            try await eventually("the token is refused", within: .seconds(180)) {
                try await asUser.get("storage/Diary").status == 401
            }
            // Data of another user are unchanged.
            #expect(try await asOther.get("auth/me").string("id") == otherID)
            let left: Int = try await server.withDatabase { database in
                let diary = try #require(PostgresIdentifier(schema: "app_" + server.connection.appId, name: "Diary"))
                return try await database.query("SELECT count(*) FROM \(diary) WHERE writers = ARRAY[\(otherID)]")[0]
                    .decode(0)
            }
            #expect(left == Self.objects)
        }

        @Test func `A user downloads all their data through the gateway`() async throws {
            let (id, asUser) = try await user("carla")
            #expect(try await asUser.post("auth/me/export", "").status == 202)
            try await eventually("the export is done", within: .seconds(120)) {
                try await asUser.get("auth/me/export").string("state") == "done"
            }
            let content = try await asUser.get("auth/me/export/content")
            #expect(content.status == 200 && content.header("content-type") == "application/jsonl")
            let lines = content.text.split(separator: "\n")
            #expect(lines.count { $0.contains(#""kind":"object""#) } == Self.objects)
            for kind in ["account", "session", "role", "file"] {
                #expect(lines.count { $0.contains(#""kind":"\#(kind)""#) } == 1, "\(kind)")
            }
            #expect(try await master.get("auth/users/\(id)/export").string("state") == "done")
        }
    }
}
