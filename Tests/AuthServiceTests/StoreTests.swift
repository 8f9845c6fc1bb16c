import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite(.serialized) struct AppStoreTests {
    @Test func `apps get random ids and increasing small numbers`() async throws {
        try await Stores.with { stores in
            var made: [App] = []
            for number in 0..<20 { made.append(try await stores.apps.create(name: "App \(number)")) }
            #expect(Set(made.map(\.id)).count == 20)
            #expect(made.allSatisfy { $0.id.wholeMatch(of: /[a-z][a-z0-9]{11}/) != nil })
            #expect(made.map(\.number) == Array(1...20))
            #expect(try await stores.apps.list() == made)
            #expect(try await stores.apps.find(made[3].id) == made[3])
            #expect(try await stores.apps.find("absent") == nil)
            #expect(try await stores.apps.find("' OR 1=1 --") == nil)
        }
    }

    @Test(arguments: ["", String(repeating: "n", count: 201)]) func `an invalid name creates no app`(_ name: String)
        async throws
    {
        try await Stores.with { stores in
            await #expect(throws: PostgresError.self) { try await stores.apps.create(name: name) }
            let apps = try await stores.apps.list()
            #expect(apps.isEmpty)
        }
    }
}

@Suite(.serialized) struct CredentialStoreTests {
    @Test func `only the digest of a credential is stored`() async throws {
        try await Stores.with { stores in
            let app = try await stores.apps.create(name: "Shop")
            var texts: [String] = []
            for kind in CredentialKind.allCases {
                let made = try await stores.credentials.create(
                    kind, environment: .test, label: "for \(kind)", of: app.id)
                texts.append(made.text.withValue { $0 })
                #expect(made.record.environment == (kind == .secret || kind == .master ? nil : .test))
                #expect(made.record.hint.count == 4 && texts.last?.hasSuffix(made.record.hint) == true)
            }
            let tables: [String] = try await stores.postgres.query(
                """
                SELECT (SELECT string_agg(c::text, '|') FROM auth.credentials AS c) || (SELECT string_agg(a::text, '|') FROM auth.apps AS a)
                """
            ).map { try $0.decode(0) }
            let stored = try #require(tables.first)
            for text in texts {
                #expect(stored.contains(Credential.hexDigest(of: text)))
                // Not even parts of a secret are stored, apart from the four characters of the hint.
                let random = String(text.suffix(43))
                #expect(
                    !stored.contains(random) && !stored.contains(random.prefix(12))
                        && !stored.contains(random.suffix(12)))
            }
        }
    }

    @Test func `credentials of an app are listed oldest first, including revoked ones`() async throws {
        try await Stores.with { stores in
            let (one, two) = (try await stores.apps.create(name: "One"), try await stores.apps.create(name: "Two"))
            let first = try await stores.credentials.create(.client, environment: .live, label: "first", of: one.id)
                .record
            _ = try await stores.credentials.create(.client, environment: .live, label: "other", of: two.id)
            let second = try await stores.credentials.create(.client, environment: .live, label: "second", of: one.id)
                .record
            #expect(try await stores.credentials.revoke(first.id))
            let list = try await stores.credentials.list(of: one.id)
            #expect(list.map(\.id) == [first.id, second.id])
            #expect(list.map { $0.revoked != nil } == [true, false])
        }
    }

    @Test func `an unknown app, or a label that is too long, creates no credential`() async throws {
        try await Stores.with { stores in
            let app = try await stores.apps.create(name: "Shop")
            await #expect(throws: PostgresError.self) {
                try await stores.credentials.create(.client, environment: .live, label: "", of: "absent")
            }
            await #expect(throws: PostgresError.self) {
                try await stores.credentials.create(
                    .client, environment: .live, label: String(repeating: "l", count: 201), of: app.id)
            }
            let count: Int = try await stores.postgres.query("SELECT count(*) FROM auth.credentials")[0].decode(0)
            #expect(count == 0)
        }
    }
}

@Suite(.serialized) struct StaffStoreTests {
    @Test func `a password is stored as Argon2id, which verifies only that password`() async throws {
        try await Stores.with { stores in
            let password = Secret("correct horse battery staple ü")
            #expect(try await stores.staff.create(userName: "ada", password: password, isAdministrator: true))
            let row = try await stores.postgres.query(
                "SELECT password, is_administrator FROM auth.staff WHERE user_name = 'ada'")[0]
            let stored: String = try row.decode(0)
            #expect(try row.decode(1, as: Bool.self))
            #expect(stored.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
            #expect(!stored.contains("horse"))
            #expect(PasswordHash.verify(password, against: stored))
            for other in [
                "", "correct horse battery staple", "Correct horse battery staple ü", "correct horse battery staple ü ",
            ] {
                #expect(!PasswordHash.verify(Secret(other), against: stored))
            }
        }
    }

    @Test func `the same password is never stored the same way twice`() throws {
        let password = Secret("a-password")
        #expect(try PasswordHash.make(of: password) != PasswordHash.make(of: password))
    }

    @Test(arguments: [
        "", "x", "$argon2id$", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$",
        "$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
    ])
    func `an invalid hash verifies no password`(_ stored: String) {
        #expect(!PasswordHash.verify(Secret(""), against: stored))
        #expect(!PasswordHash.verify(Secret("x"), against: stored))
    }

    /// The first vector in the tests of the reference implementation (phc-winner-argon2, test.c).
    @Test func `hashes created elsewhere verify`() {
        let stored = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
        #expect(PasswordHash.verify(Secret("password"), against: stored))
        #expect(!PasswordHash.verify(Secret("passwort"), against: stored))
    }

    @Test func `a name in use changes nothing`() async throws {
        try await Stores.with { stores in
            #expect(
                try await stores.staff.create(
                    userName: "ada", password: Secret("first-password"), isAdministrator: false))
            #expect(
                try await stores.staff.create(
                    userName: "ada", password: Secret("second-password"), isAdministrator: true) == false)
            let rows = try await stores.postgres.query("SELECT password, is_administrator FROM auth.staff")
            #expect(rows.count == 1)
            #expect(try PasswordHash.verify(Secret("first-password"), against: rows[0].decode(0)))
            #expect(try rows[0].decode(1, as: Bool.self) == false)
        }
    }

    @Test(arguments: ["", "Ada", "-ada", "a b", "ä", "a'", String(repeating: "a", count: 101)])
    func `an invalid name creates no one`(_ name: String) async throws {
        try await Stores.with { stores in
            await #expect(throws: PostgresError.self) {
                try await stores.staff.create(userName: name, password: Secret("a-password"), isAdministrator: false)
            }
            let rows = try await stores.postgres.query("SELECT FROM auth.staff")
            #expect(rows.isEmpty)
        }
    }
}

/// Stores on a database of their own, connected as `martlet_auth`.
private struct Stores: Sendable {
    let postgres: PostgresClient
    var apps: AppStore { AppStore(postgres: postgres) }
    var credentials: CredentialStore { CredentialStore(postgres: postgres) }
    var staff: StaffStore { StaffStore(postgres: postgres) }

    static func with(_ body: (Stores) async throws -> Void) async throws {
        try await MigratedDatabase.with { database in
            let postgres = database.client(for: "auth", maximumConnections: 1)
            try await body(Stores(postgres: postgres))
            await postgres.close()
        }
    }
}
