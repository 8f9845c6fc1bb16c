import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite(.serialized) struct KeyTests {
    /// Waits until the credential is in the key ring, and returns it.
    private func ringed(
        _ text: String, _ apps: StaffApps, where isWanted: @escaping (KeyRing.Credential) -> Bool = { _ in true }
    ) async throws -> KeyRing.Credential? {
        let digest = Credential.hexDigest(of: text)
        func find(_ ring: KeyRing) -> KeyRing.Credential? {
            ring.apps.flatMap(\.credentials).first { $0.sha256 == digest }
        }
        return find(try await apps.auth.ring(after: 0) { find($0).map(isWanted) ?? false })
    }

    @Test(arguments: CredentialKind.allCases) func `a key of each kind is created, shown once and known to gateways`(
        _ kind: CredentialKind
    ) async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let hasEnvironment = kind != .secret && kind != .master
            let answer = try await apps.send(
                "POST", "/\(id)/keys",
                #"{"kind":"\#(kind.rawValue)","label":"release 2.4","expires":"2090-06-30T00:00:00Z","networks":["10.1.0.0/16","fc00::/7"]\#(hasEnvironment ? #","environment":"test""# : "")}"#
            )
            #expect(answer.status == 201 && answer.header("cache-control") == "no-store", "\(answer)")
            let text = try #require(answer.string("key"))
            #expect(answer.string("record.hint").map(text.hasSuffix) == true && answer["record.scopes"] == "null")
            let credential = try #require(try await ringed(text, apps))
            #expect(credential.kind == kind && credential.environment == (hasEnvironment ? .test : nil))
            #expect(credential.networks == ["10.1.0.0/16", "fc00::/7"] && credential.expires != nil)
            let list = try await apps.send("GET", "/\(id)/keys")
            #expect(
                list.all("label").first == "release 2.4" && !list.text.contains(text)
                    && !list.text.contains(credential.sha256))
            let log = try await apps.auditText()
            #expect(!log.contains(text) && !log.contains(credential.sha256) && log.contains("release 2.4"))
        }
    }

    @Test func `scopes reach the key ring on creation and on change`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let made = try await apps.send(
                "POST", "/\(id)/keys", #"{"kind":"secret","scopes":["storage:read","auth"]}"#)
            let (text, key) = (try #require(made.string("key")), try #require(made.string("record.id")))
            #expect(try await ringed(text, apps)?.scopes == ["storage:read", "auth"])
            let changed = try await apps.send("PATCH", "/\(id)/keys/\(key)", #"{"scopes":["config"],"label":"less"}"#)
            #expect(changed.status == 200 && changed.string("label") == "less", "\(changed)")
            #expect(try await ringed(text, apps) { $0.scopes == ["config"] } != nil)
            let freed = try await apps.send(
                "PATCH", "/\(id)/keys/\(key)",
                #"{"scopes":null,"expires":"2090-01-01T00:00:00.500Z","networks":["10.0.0.0/8"]}"#)
            #expect(
                freed["scopes"] == "null" && freed.string("expires") == "2090-01-01T00:00:00.500Z"
                    && freed.string("label") == "less")
            #expect(try await ringed(text, apps) { $0.scopes == nil && $0.networks == ["10.0.0.0/8"] } != nil)
            let unbound = try await apps.send("PATCH", "/\(id)/keys/\(key)", #"{"expires":null,"networks":null}"#)
            #expect(unbound["expires"] == "null" && unbound["networks"] == "null")
            let client = try #require(
                try await apps.send("POST", "/\(id)/keys", #"{"kind":"client"}"#).string("record.id"))
            #expect(
                try await apps.send("PATCH", "/\(id)/keys/\(client)", #"{"scopes":["storage"]}"#).isProblem(
                    .invalidBody, field: "scopes"))
        }
    }

    @Test(arguments: [
        (#"{}"#, "kind"), (#"{"kind":"root"}"#, "kind"), (#"{"kind":"client","environment":"prod"}"#, "environment"),
        (#"{"kind":"secret","environment":"live"}"#, "environment"),
        (#"{"kind":"secret","label":"\#(String(repeating: "l", count: 201))"}"#, "label"),
        (#"{"kind":"secret","expires":"tomorrow"}"#, "expires"),
        (#"{"kind":"secret","expires":"2020-01-01T00:00:00Z"}"#, "expires"),
        (#"{"kind":"secret","expires":"9999-01-01T00:00:00Z"}"#, "expires"),
        (#"{"kind":"master","networks":[]}"#, "networks"), (#"{"kind":"master","networks":["10.0.0.0"]}"#, "networks"),
        (#"{"kind":"master","networks":["10.0.0.0/33"]}"#, "networks"),
        (#"{"kind":"master","networks":["10.0.0.0/-1"]}"#, "networks"),
        (#"{"kind":"master","networks":["fe80::1%eth0/64"]}"#, "networks"),
        (#"{"kind":"master","networks":"10.0.0.0/8"}"#, "networks"),
        (#"{"kind":"secret","scopes":[]}"#, "scopes"), (#"{"kind":"secret","scopes":["everything"]}"#, "scopes"),
        (#"{"kind":"secret","scopes":["storage:write"]}"#, "scopes"),
        (#"{"kind":"secret","scopes":["storage","storage"]}"#, "scopes"),
        (#"{"kind":"client","scopes":["storage"]}"#, "scopes"), (#"{"kind":"secret","sha256":"x"}"#, "sha256"),
    ])
    func `invalid fields are refused by name, and nothing is created`(_ body: String, _ field: String) async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let before = try await apps.state()
            let answer = try await apps.send("POST", "/\(id)/keys", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await apps.state() == before)
        }
    }

    @Test func `a revoked key leaves the key ring, and the last of its kind is kept unless forced`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let list = try await apps.send("GET", "/\(id)/keys")
            func first(_ kind: String, _ environment: String = "null") throws -> String {
                guard case .array(let keys) = list.json?["data"] else { return "" }
                let key = keys.first { $0["kind"]?.text == "\"\(kind)\"" && $0["environment"]?.text == environment }
                guard case .string(let id) = key?["id"] else { return "" }
                return id
            }
            let guarded = [try first("secret"), try first("client", #""live""#), try first("client", #""test""#)]
            for key in guarded { #expect(try await apps.send("DELETE", "/\(id)/keys/\(key)").isProblem(.conflict)) }
            #expect(
                try await apps.send("DELETE", "/\(id)/keys/\(guarded[0])?force=maybe").isProblem(
                    .invalidParameter, field: "force"))
            #expect(
                try await apps.send("DELETE", "/\(id)/keys/\(try first("master"))").status == 204,
                "the last master key can be revoked without force")

            let second = try await apps.send("POST", "/\(id)/keys", #"{"kind":"secret","label":"second"}"#)
            let (text, key) = (try #require(second.string("key")), try #require(second.string("record.id")))
            #expect(try await ringed(text, apps) != nil)
            #expect(try await apps.send("DELETE", "/\(id)/keys/\(guarded[0])").status == 204)
            #expect(try await apps.send("DELETE", "/\(id)/keys/\(guarded[0])").isProblem(.keyNotFound))
            #expect(try await apps.send("DELETE", "/\(id)/keys/\(key)").isProblem(.conflict), "now it is the last one")
            #expect(try await apps.send("DELETE", "/\(id)/keys/\(key)?force=true").status == 204)
            _ = try await apps.auth.ring(after: 0) {
                !$0.apps.flatMap(\.credentials).contains { $0.sha256 == Credential.hexDigest(of: text) }
            }
            #expect(!(try await apps.send("GET", "/\(id)/keys").all("id").contains(key)))
            #expect(try await apps.send("GET", "/\(id)/keys?revoked=true").all("id").contains(key))
            #expect(try await apps.send("PATCH", "/\(id)/keys/\(key)", #"{"label":"back"}"#).isProblem(.keyNotFound))
            #expect(try await apps.send("POST", "/\(id)/keys/\(key)/rotate").isProblem(.keyNotFound))
        }
    }

    @Test func `of the last two secrets, one stays if both are revoked at once`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            #expect(try await apps.send("POST", "/\(id)/keys", #"{"kind":"secret"}"#).status == 201)
            let all = try await apps.send("GET", "/\(id)/keys")
            guard case .array(let keys) = all.json?["data"] else { return }
            let secrets = keys.filter { $0["kind"]?.text == #""secret""# }.compactMap {
                if case .string(let id) = $0["id"] { id } else { nil }
            }
            try #require(secrets.count == 2)
            async let one = apps.send("DELETE", "/\(id)/keys/\(secrets[0])").status
            async let two = apps.send("DELETE", "/\(id)/keys/\(secrets[1])").status
            #expect(try await [one, two].sorted() == [204, 409])
        }
    }

    @Test func `an expired key cannot be restored`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let made = try await apps.send(
                "POST", "/\(id)/keys", #"{"kind":"secret","expires":"2090-01-01T00:00:00Z"}"#)
            let key = try #require(made.string("record.id"))
            try await apps.auth.postgres.execute(
                "UPDATE auth.credentials SET expires = now() - interval '1 second' WHERE id = \(UUID(uuidString: key))")
            let before = try await apps.state()
            for expires in [#""2091-01-01T00:00:00Z""#, "null"] {
                #expect(
                    try await apps.send("PATCH", "/\(id)/keys/\(key)", #"{"expires":\#(expires)}"#).isProblem(
                        .conflict), "\(expires)")
            }
            #expect(try await apps.state() == before)
            #expect(try await apps.send("PATCH", "/\(id)/keys/\(key)", #"{"label":"of the old app"}"#).status == 200)
        }
    }

    @Test func `rotating a key creates an equal one at once, and the old key expires after its grace period`()
        async throws
    {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let old = try await apps.send(
                "POST", "/\(id)/keys",
                #"{"kind":"master","label":"billing","networks":["10.0.0.0/8"],"scopes":["storage:read"],"expires":"2090-01-01T00:00:00Z"}"#
            )
            let (oldText, key) = (try #require(old.string("key")), try #require(old.string("record.id")))
            let rotated = try await apps.send("POST", "/\(id)/keys/\(key)/rotate", #"{"graceSeconds":3600}"#)
            #expect(rotated.status == 201 && rotated.header("cache-control") == "no-store", "\(rotated)")
            let newText = try #require(rotated.string("key"))
            #expect(
                newText != oldText && newText.hasPrefix("mm_") && rotated.string("old.id") == key
                    && rotated["old.revoked"] == "null")
            let (new, ending) = (
                try #require(try await ringed(newText, apps)), try #require(try await ringed(oldText, apps))
            )
            #expect(
                new.networks == ["10.0.0.0/8"] && new.scopes == ["storage:read"]
                    && rotated.string("record.label") == "billing")
            let inHour = try #require(ending.expires).timeIntervalSinceNow
            #expect((3_000...3_600).contains(inHour), "\(inHour)")
            #expect(try #require(new.expires).timeIntervalSinceNow > 60 * 365 * 86_400)

            let again = try #require(rotated.string("record.id"))
            let atOnce = try await apps.send("POST", "/\(id)/keys/\(again)/rotate", #"{"graceSeconds":0}"#)
            #expect(atOnce.status == 201 && atOnce["old.revoked"] != "null")
            _ = try await apps.auth.ring(after: 0) {
                !$0.apps.flatMap(\.credentials).contains { $0.sha256 == Credential.hexDigest(of: newText) }
            }
            for wrong in ["-1", "2592001", "1.5", #""1""#] {
                let answer = try await apps.send("POST", "/\(id)/keys/\(key)/rotate", #"{"graceSeconds":\#(wrong)}"#)
                #expect(answer.isProblem(.invalidBody, field: "graceSeconds"), "\(wrong)")
            }
            #expect(
                try await apps.audit().dropFirst() == [
                    "ada create-key - a", "ada create-key - a", "ada rotate-key b a", "ada create-key - a",
                    "ada rotate-key b a",
                ])
            let log = try await apps.auditText()
            for text in [oldText, newText] { #expect(!log.contains(text)) }
        }
    }

    @Test func `keys of another app are not found`() async throws {
        try await StaffApps.run { apps in
            let (own, other) = (try await apps.make("Own"), try await apps.make("Other"))
            let foreign = try #require(try await apps.send("GET", "/\(other)/keys").all("id").first)
            let before = try await apps.state()
            for (method, path) in [("PATCH", ""), ("DELETE", "?force=true"), ("POST", "/rotate")] {
                #expect(
                    try await apps.send(method, "/\(own)/keys/\(foreign)\(path)", method == "DELETE" ? nil : "{}")
                        .isProblem(.keyNotFound))
            }
            #expect(try await apps.send("DELETE", "/\(own)/keys/none").isProblem(.keyNotFound))
            #expect(try await apps.state() == before)
        }
    }

    /// Attack: a member who may manage an app's keys, but not read its data, creates a key to access the data.
    @Test func `staff cannot create a master key that exceeds their own rights`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let all = Set(StaffAction.allCases)
            let keeper = apps.member([id: [.applications: all]])
            // A key for storage can also change roles, which belong to the users' data.
            let reader = apps.member([id: [.applications: all, .storage: [.read], .users: [.read]]])
            let storekeeper = apps.member([id: [.applications: all, .storage: all, .users: all]])
            let wide = try #require(
                try await apps.send("POST", "/\(id)/keys", #"{"kind":"master"}"#).string("record.id"))
            let narrow = try #require(
                try await apps.send("POST", "/\(id)/keys", #"{"kind":"master","scopes":["storage:read"]}"#).string(
                    "record.id"))
            let before = try await apps.state()
            for member in [keeper, reader, storekeeper] {
                for (method, path, body) in [
                    ("POST", "", #"{"kind":"master"}"#),
                    ("POST", "", #"{"kind":"master","scopes":["storage","config"]}"#),
                    ("POST", "/\(wide)/rotate", "{}"),
                    ("PATCH", "/\(narrow)", #"{"scopes":null}"#),
                    ("PATCH", "/\(narrow)", #"{"scopes":["config:read"]}"#),
                    ("PATCH", "/\(wide)", #"{"networks":["0.0.0.0/0"]}"#),
                ] {
                    let answer = try await member.send(method, "/\(id)/keys\(path)", body)
                    #expect(answer.isProblem(.forbidden), "\(method) \(path) \(body): \(answer)")
                }
            }
            #expect(
                try await keeper.send("POST", "/\(id)/keys", #"{"kind":"master","scopes":["storage:read"]}"#).isProblem(
                    .forbidden))
            #expect(
                try await reader.send("POST", "/\(id)/keys", #"{"kind":"master","scopes":["storage"]}"#).isProblem(
                    .forbidden))
            #expect(try await apps.state() == before)
            #expect(
                try await reader.send("POST", "/\(id)/keys", #"{"kind":"master","scopes":["storage:read"]}"#).status
                    == 201)
            #expect(try await reader.send("POST", "/\(id)/keys/\(narrow)/rotate").status == 201)
            #expect(
                try await storekeeper.send("POST", "/\(id)/keys", #"{"kind":"master","scopes":["storage","files"]}"#)
                    .status == 201)
            #expect(try await keeper.send("POST", "/\(id)/keys", #"{"kind":"secret"}"#).status == 201)
            #expect(
                try await keeper.send("DELETE", "/\(id)/keys/\(wide)").status == 204, "revoking a key grants nothing")
        }
    }

    @Test func `the number of keys per app is limited`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            try await apps.auth.postgres.execute(
                """
                INSERT INTO auth.credentials (app_id, kind, sha256, hint)
                SELECT \(id), 'secret', encode(sha256(number::text::bytea), 'hex'), 'x' FROM generate_series(7, \(CredentialStore.maximumPerApp)) AS number
                """)
            #expect(try await apps.send("POST", "/\(id)/keys", #"{"kind":"secret"}"#).isProblem(.limitExceeded))
            let count: Int = try await apps.auth.postgres.query("SELECT count(*) FROM auth.credentials")[0].decode(0)
            #expect(count == CredentialStore.maximumPerApp)
        }
    }
}
