import Foundation
import MartletAPI
import MartletPostgres
import Testing

extension IntegrationTests {
    @Suite(.localServer)
    struct KeyTests {
        let server: LocalServer
        let connection: Connection
        let client: Client

        init() throws {
            server = try .current
            connection = server.connection
            client = Client(connection)
        }

        enum Presented: String, CaseIterable, CustomTestStringConvertible {
            case noSecret = "no secret"
            case emptySecret = "an empty secret"
            case wrongSecret = "a secret that does not exist"
            case longerSecret = "the secret with one more character at its end"
            case masterKeyAsSecret = "the master key as secret"
            case appKeyAsSecret = "the app key as secret"
            case secretOfAnotherApp = "the secret of another app"
            case masterKeyOfAnotherApp = "the master key of another app"
            case wrongMasterKey = "a wrong master key beside the right secret"
            case wrongKey = "an app key that does not exist"
            case ingestKeyAsAppKey = "the ingest key as app key"
            case evaluationKeyAsAppKey = "the evaluation key as app key"
            case secretAsAppKey = "the secret as app key"
            case ingestKeyAsSecret = "the ingest key as secret"

            var testDescription: String { rawValue }

            func client(_ own: Connection, _ other: LocalServer.MadeApp) -> Client {
                let right = Client(own)
                func key(_ text: String) -> Client { Client(url: own.url, appKey: text, headers: right.headers) }
                func secret(_ text: String) -> Client { right.adding(HeaderName.secret, text) }
                return switch self {
                case .noSecret: Client(url: own.url, appKey: own.appKey, headers: [:])
                case .emptySecret: secret("")
                case .wrongSecret: secret("ms_" + String(repeating: "A", count: 43))
                case .longerSecret: secret(own.secret + "x")
                case .masterKeyAsSecret: secret(own.masterKey)
                case .appKeyAsSecret: secret(own.appKey)
                case .secretOfAnotherApp: secret(other.secret)
                case .masterKeyOfAnotherApp: right.adding(HeaderName.masterKey, other.masterKey)
                case .wrongMasterKey: right.adding(HeaderName.masterKey, "mm_x")
                case .wrongKey: key("mk_live_" + String(repeating: "A", count: 43))
                case .ingestKeyAsAppKey: key(own.ingestKey)
                case .evaluationKeyAsAppKey: key(own.evaluationKey)
                case .secretAsAppKey: key(own.secret)
                case .ingestKeyAsSecret: secret(own.ingestKey)
                }
            }
        }

        @Test func `whatever is wrong, the answer is the same 401 and nothing is written`() async throws {
            let other = try await server.makeApp("Other")
            try await waitUntilOpen(server.client(other))
            for presented in Presented.allCases {
                let client = presented.client(connection, other)
                for reply in [
                    try await client.post("storage/Refused", #"{"_id":"a"}"#), try await client.get("collections"),
                    try await client.get("storage/Refused"),
                ] {
                    #expect(reply.isProblem(.unauthorized), "\(presented.rawValue): \(reply)")
                    #expect(reply.string("detail") == nil, "\(presented.rawValue) tells which part was wrong")
                }
            }
            #expect(try await client.get("storage/Refused")["count"] == "0")
            #expect(try await server.client(other).get("storage/Refused")["count"] == "0")
        }

        @Test(arguments: [
            ("GET", "collections"), ("DELETE", "collections/Kept"), ("POST", "collections/Kept/rename"),
            ("GET", "collections/Kept/indexes"), ("POST", "collections/Kept/indexes"),
            ("DELETE", "collections/Kept/indexes/x"),
        ])
        func `management with a client's secret is 403`(method: String, path: String) async throws {
            #expect(try await client.post("storage/Kept", #"{"_id":"a"}"#).isSuccess)
            let reply = try await client.send(method, path, method == "POST" ? "{}" : nil)
            #expect(reply.isProblem(.forbidden), "\(reply)")
            #expect(try await client.get("storage/Kept").ids == ["a"])
        }

        @Test func `apps are separate, and a new app is available at once`() async throws {
            let other = server.client(try await server.makeApp("Apart"))
            try await waitUntilOpen(other)
            #expect(try await client.post("storage/Apart", #"{"_id":"mine","owner":"first"}"#).isSuccess)
            #expect(try await other.get("storage/Apart")["count"] == "0")
            #expect(try await other.get("storage/Apart/mine").isProblem(.objectNotFound))
            #expect(try await other.post("storage/Apart", #"{"_id":"mine","owner":"other"}"#).status == 201)
            #expect(try await client.get("storage/Apart/mine").string("owner") == "first")
        }

        @Test func `a secret is rotated without an outage`() async throws {
            let (old, new) = (
                try await server.makeKey("secret", "--label", "old"),
                try await server.makeKey("secret", "--label", "new")
            )
            let (before, after) = (client.adding(HeaderName.secret, old.key), client.adding(HeaderName.secret, new.key))
            try await waitUntilOpen(before)
            try await waitUntilOpen(after)
            #expect(try await before.get("storage/Notes").status == 200, "both keys are valid at once")
            let revoked = try await server.martlet("key", "revoke", old.record.id)
            #expect(revoked.status == 0 && revoked.output == "revoked\n")
            try await waitUntilRefused(before)
            #expect(try await after.get("storage/Notes").status == 200)
            #expect(try await client.get("storage/Notes").status == 200)
            #expect(try await server.martlet("key", "revoke", old.record.id).status != 0, "the key was revoked already")
        }

        @Test func `a revoked app key and a revoked master key are refused`() async throws {
            let key = try await server.makeKey("client")
            let own = Client(url: client.url, appKey: key.key, headers: client.headers)
            let master = try await server.makeKey("master")
            let managing = client.adding(HeaderName.masterKey, master.key)
            try await waitUntilOpen(own)
            try await waitUntilOpen(managing)
            for id in [key.record.id, master.record.id] {
                #expect(try await server.martlet("key", "revoke", id).status == 0)
            }
            try await waitUntilRefused(own)
            try await waitUntilRefused(managing)
        }

        @Test func `a secret is refused once it has expired`() async throws {
            let secret = try await server.makeKey("secret", "--expires-in-days", "1")
            let expiring = client.adding(HeaderName.secret, secret.key)
            try await waitUntilOpen(expiring)
            let id = try #require(UUID(uuidString: secret.record.id))
            try await server.withDatabase {
                _ = try await $0.execute(
                    "UPDATE auth.credentials SET expires = now() + interval '2 seconds' WHERE id = \(id)")
            }
            try await waitUntilRefused(expiring)
        }

        @Test func `a master key is accepted only from its networks`() async throws {
            let far = try await server.makeKey("master", "--network", "192.0.2.0/24")
            let near = try await server.makeKey("master", "--network", "192.0.2.0/24", "--network", "127.0.0.0/8")
            try await waitUntilOpen(client.adding(HeaderName.masterKey, near.key))
            #expect(try await client.adding(HeaderName.masterKey, far.key).get("collections").isProblem(.unauthorized))
        }

        @Test func `the last use is shown after the gateway has reported it`() async throws {
            let secret = try await server.makeKey("secret", "--label", "to be used")
            let unused = try await server.makeKey("secret", "--label", "never used")
            try await waitUntilOpen(client.adding(HeaderName.secret, secret.key))
            try await server.restart("gateway", by: SIGTERM)
            let keys = try await server.keys()
            #expect(keys.first { $0.id == secret.record.id }?.lastUsed != nil)
            #expect(keys.first { $0.id == unused.record.id }.map { $0.lastUsed == nil } == true)
        }

        @Test func `test data are separate from live data, by key and by header`() async throws {
            let byHeader = client.adding(HeaderName.environment, "test")
            let byKey = Client(url: client.url, appKey: connection.testAppKey, headers: client.headers)
            let byKeyAsLive = byKey.adding(HeaderName.environment, "live")
            #expect(try await client.post("storage/Env", #"{"_id":"a","in":"live"}"#).status == 201)
            #expect(try await byHeader.get("storage/Env")["count"] == "0")
            #expect(try await byHeader.post("storage/Env", #"{"_id":"a","in":"test"}"#).status == 201)
            for client in [byHeader, byKey, byKeyAsLive] {
                #expect(try await client.get("storage/Env/a").string("in") == "test")
            }
            #expect(try await client.get("storage/Env/a").string("in") == "live")
            #expect(try await client.adding(HeaderName.environment, "live").get("storage/Env/a").string("in") == "live")
            #expect(
                try await client.adding(HeaderName.environment, "other").get("storage/Env/a").isProblem(
                    .invalidParameter))
            let master = Client.master(connection).adding(HeaderName.environment, "test")
            #expect(try await master.send("DELETE", "collections/Env").status == 204)
            #expect(try await byKey.get("storage/Env")["count"] == "0")
            #expect(try await client.get("storage/Env").ids == ["a"])
        }
    }
}
