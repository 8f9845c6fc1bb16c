import AuthService
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@Suite(.serialized) struct ReadKeyRingTests {
    @Test func `the key ring has every app with its live credentials, and its version grows with each change`()
        async throws
    {
        try await AuthApp.run { auth in
            let empty = try await auth.ring(after: 0)
            #expect(empty.apps.isEmpty)
            let app = try await auth.apps.create(name: "Shop")
            let expires = Date(timeIntervalSince1970: 4_000_000_000)
            let made = try await auth.credentials.create(
                .client, environment: .test, label: "l", expires: expires, of: app.id)
            let master = try await auth.credentials.create(
                .master, environment: .live, label: "", networks: ["10.0.0.0/8", "::1/128"], of: app.id)
            let ring = try await auth.ring(after: empty.version) { $0.apps.first?.credentials.count == 2 }
            #expect(ring.version > empty.version)
            #expect(
                ring.apps.map(\.id) == [app.id] && ring.apps.map(\.number) == [app.number]
                    && ring.apps.map(\.name) == ["Shop"])
            let (client, second) = (
                try #require(ring.apps.first?.credentials.first), try #require(ring.apps.first?.credentials.last)
            )
            #expect(
                client
                    == .init(
                        id: made.record.id.uuidString.lowercased(), kind: .client, environment: .test,
                        sha256: made.text.withValue { Credential.hexDigest(of: $0) }, expires: expires))
            #expect(
                second
                    == .init(
                        id: master.record.id.uuidString.lowercased(), kind: .master, environment: nil,
                        sha256: master.text.withValue { Credential.hexDigest(of: $0) },
                        networks: ["10.0.0.0/8", "::1/128"]))
        }
    }

    @Test func `a waiting gateway is notified of changes, including revocations`() async throws {
        try await AuthApp.run { auth in
            let app = try await auth.apps.create(name: "Shop")
            let made = try await auth.credentials.create(.secret, environment: .live, label: "", of: app.id)
            let before = try await auth.ring(after: 0) { $0.apps.first?.credentials.count == 1 }
            async let waiting = auth.ring(after: before.version)
            #expect(try await auth.credentials.revoke(made.record.id))
            let after = try await waiting
            #expect(after.version > before.version)
            #expect(after.apps.first?.credentials.isEmpty == true)
            #expect(try await auth.credentials.revoke(made.record.id) == false)
            #expect(try await auth.credentials.revoke(UUID()) == false)
        }
    }

    @Test func `fifty waiting gateways are all notified`() async throws {
        try await AuthApp.run { auth in
            let version = try await auth.ring(after: 0).version
            let versions = try await withThrowingTaskGroup(of: Int64.self) { group in
                for _ in 0..<50 { group.addTask { try await auth.ring(after: version).version } }
                _ = try await auth.apps.create(name: "Shop")
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(versions.count == 50)
            #expect(versions.allSatisfy { $0 > version })
        }
    }

    @Test func `without a change, the answer after the wait is 204`() async throws {
        try await AuthApp.run { auth in
            let version = try await auth.ring(after: 0).version
            #expect(try await auth.gateway.get("/internal/keyring?after=\(version)").status == 204)
            let start = ContinuousClock.now
            let answer = try await auth.gateway.get("/internal/keyring?after=\(version)&wait=1")
            #expect(answer.status == 204)
            #expect(answer.text.isEmpty)
            // The answer must take at least a second. How much longer it takes depends on the machine.
            #expect(ContinuousClock.now - start >= .seconds(1))
            #expect(try await auth.gateway.get("/internal/keyring?after=\(version - 1)").status == 200)
            #expect(try await auth.gateway.get("/internal/keyring").status == 200)
        }
    }

    @Test func `expired and archived credentials are left out`() async throws {
        try await AuthApp.run { auth in
            let app = try await auth.apps.create(name: "Shop")
            let gone = try await auth.apps.create(name: "Gone")
            _ = try await auth.credentials.create(
                .client, environment: .live, label: "", expires: Date(timeIntervalSinceNow: -1), of: app.id)
            let live = try await auth.credentials.create(
                .client, environment: .live, label: "", expires: Date(timeIntervalSinceNow: 3_600), of: app.id)
            _ = try await auth.credentials.create(.client, environment: .live, label: "", of: gone.id)
            _ = try await auth.database.withSuperuser {
                try await $0.execute("UPDATE auth.apps SET archived = now() WHERE id = \(gone.id)")
            }
            let ring = try await auth.ring(after: 0) { $0.apps.count == 1 }
            #expect(ring.apps.map(\.id) == [app.id])
            #expect(ring.apps.first?.credentials.map(\.id) == [live.record.id.uuidString.lowercased()])
            #expect(try await auth.apps.list().map(\.id) == [app.id])
            #expect(try await auth.apps.find(gone.id) == nil)
        }
    }

    @Test func `using a credential does not change the key ring`() async throws {
        try await AuthApp.run { auth in
            let app = try await auth.apps.create(name: "Shop")
            let made = try await auth.credentials.create(.client, environment: .live, label: "", of: app.id)
            let version = try await auth.ring(after: 0) { $0.apps.first?.credentials.count == 1 }.version
            let body = #"{"used":{"\#(made.record.id)":"2026-01-01T00:00:00Z"}}"#
            #expect(try await auth.gateway.post("/internal/credentials/used", body).status == 204)
            let stored: Int64 = try await auth.postgres.query("SELECT version FROM auth.key_ring")[0].decode(0)
            #expect(stored == version)
        }
    }

    @Test(arguments: [Principal.Kind.client, .master, .ingest, .evaluation])
    func `only internal services get the key ring`(_ kind: Principal.Kind) async throws {
        try await AuthApp.run { auth in
            let caller = auth.gateway.acting(
                as: Principal(kind: kind, appID: "shop", appNumber: 1, environment: .live, credentialID: "x"))
            let answers = (
                try await caller.get("/internal/keyring"),
                try await auth.gateway.acting(as: nil).get("/internal/keyring")
            )
            #expect(answers.0.isProblem(.forbidden) && answers.1.isProblem(.unauthorized), "\(answers)")
        }
    }

    @Test(arguments: ["after=x", "wait=x", "wait=-1", "after=99999999999999999999", "wait=31"])
    func `invalid parameters are refused`(_ query: String) async throws {
        try await AuthApp.run { auth in
            let answer = try await auth.gateway.get("/internal/keyring?\(query)")
            #expect(answer.isProblem(.invalidParameter), "\(answer)")
        }
    }
}
