import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite(.serialized) struct AppTests {
    @Test func `a new app comes with keys known to gateways, which are shown only once`() async throws {
        try await StaffApps.run { apps in
            let answer = try await apps.send(
                "POST", "",
                #"{"name":"Shop","bundleIds":["org.example.shop"],"storeId":"1234567890","settings":{"team":"green"}}"#)
            #expect(answer.status == 201 && answer.header("cache-control") == "no-store", "\(answer)")
            let id = try #require(answer.string("app.id"))
            let texts = try ["appKey", "secret", "masterKey", "testAppKey", "ingestKey", "evaluationKey"].map {
                try #require(answer.string("keys.\($0)"))
            }
            #expect(
                answer.string("keys.appId") == id && answer["app.icon"] == "null" && answer["app.archived"] == "null")
            #expect(answer["app.settings.team"] == #""green""# && answer["app.bundleIds.0"] == #""org.example.shop""#)
            let ring = try await apps.auth.ring(after: 0) { $0.apps.contains { $0.id == id } }
            let digests = Set(ring.apps.first { $0.id == id }?.credentials.map(\.sha256) ?? [])
            #expect(digests == Set(texts.map { Credential.hexDigest(of: $0) }))
            let again = try await apps.send("GET", "/\(id)")
            #expect(again.status == 200 && again.string("name") == "Shop" && again.string("storeId") == "1234567890")
            let keys = try await apps.send("GET", "/\(id)/keys")
            let audited = try await apps.auditText()
            for text in texts {
                #expect(!again.text.contains(text) && !keys.text.contains(text) && !audited.contains(text.suffix(20)))
            }
            #expect(try await apps.audit() == ["ada create - a"])
        }
    }

    @Test func `changes replace values, and the audit log records before and after`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make(more: #","storeId":"1","settings":{"a":1.50}"#)
            let changed = try await apps.send(
                "PATCH", "/\(id)", #"{"name":"Store","bundleIds":["a.b","c.d"],"storeId":null}"#)
            #expect(
                changed.status == 200 && changed.string("name") == "Store" && changed["storeId"] == "null"
                    && changed["settings.a"] == "1.50", "\(changed)")
            #expect(changed["bundleIds"]?.replacing(" ", with: "") == #"["a.b","c.d"]"#)
            #expect(try await apps.audit() == ["ada create - a", "ada update b a"])
            let log = try await apps.auth.postgres.query(
                "SELECT before ->> 'name', after ->> 'name', app_id, address FROM auth.audit_log ORDER BY number")[1]
            #expect(
                try log.decode(0) == "Shop" && log.decode(1) == "Store" && log.decode(2) == id
                    && log.decode(3) == "127.0.0.1")
            let ring = try await apps.auth.ring(after: 0) { $0.apps.contains { $0.name == "Store" } }
            #expect(ring.apps.count == 1)
        }
    }

    @Test(arguments: [
        (#"{}"#, "name"), (#"{"name":""}"#, "name"), (#"{"name":7}"#, "name"),
        (#"{"name":"\#(String(repeating: "n", count: 201))"}"#, "name"),
        (#"{"name":"x","bundleIds":"a"}"#, "bundleIds"), (#"{"name":"x","bundleIds":["a b"]}"#, "bundleIds"),
        (#"{"name":"x","bundleIds":["a","a"]}"#, "bundleIds"),
        (#"{"name":"x","bundleIds":[\#((0...20).map { "\"a\($0)\"" }.joined(separator: ","))]}"#, "bundleIds"),
        (#"{"name":"x","storeId":"12a"}"#, "storeId"), (#"{"name":"x","storeId":12}"#, "storeId"),
        (#"{"name":"x","settings":[]}"#, "settings"),
        (#"{"name":"x","settings":{\#((0..<300).map { "\"k\($0)\":1e390" }.joined(separator: ","))}}"#, "settings"),
        (#"{"name":"x","settings":{"a":"\#(String(repeating: "n", count: 17_000))"}}"#, "settings"),
        (#"{"name":"x","id":"mine"}"#, "id"), (#"{"name":"x","archived":null}"#, "archived"),
    ])
    func `invalid fields are refused by name, and nothing is created`(_ body: String, _ field: String) async throws {
        try await StaffApps.run { apps in
            let before = try await apps.state()
            let answer = try await apps.send("POST", "", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await apps.state() == before)
        }
    }

    @Test func `the keys of an archived app leave the key ring, its data stay, and it can be restored`() async throws {
        try await StaffApps.run { apps in
            let (id, other) = (try await apps.make(), try await apps.make("Other"))
            let archived = try await apps.send("POST", "/\(id)/archive")
            #expect(archived.status == 200 && archived["archived"] != "null", "\(archived)")
            // Wait for a key ring that is not from before the apps were created.
            let ring = try await apps.auth.ring(after: 0) { $0.apps.map(\.id) == [other] }
            #expect(try await apps.send("GET", "").all("id") == [other])
            #expect(try await apps.send("GET", "?archived=true").all("id") == [id])
            #expect(try await apps.send("GET", "/\(id)").string("name") == "Shop")
            #expect(
                try await apps.send("POST", "/\(id)/archive").text == archived.text, "archiving twice changes nothing")
            for (method, path, body) in [
                ("PATCH", "", #"{"name":"x"}"#), ("POST", "/keys", #"{"kind":"secret"}"#),
                ("POST", "/versions", #"{"number":"1"}"#),
            ] {
                #expect(try await apps.send(method, "/\(id)\(path)", body).isProblem(.conflict), "\(method) \(path)")
            }
            let restored = try await apps.send("POST", "/\(id)/restore")
            #expect(restored.status == 200 && restored["archived"] == "null")
            let again = try await apps.auth.ring(after: ring.version) { $0.apps.contains { $0.id == id } }
            #expect(again.apps.first { $0.id == id }?.credentials.count == 6)
            #expect(try await apps.audit().suffix(2) == ["ada archive b a", "ada restore b a"])
        }
    }

    @Test func `apps are listed page by page, and unknown apps are 404`() async throws {
        try await StaffApps.run { apps in
            var made: [String] = []
            for number in 0..<5 { made.append(try await apps.make("App \(number)")) }
            let first = try await apps.send("GET", "?limit=2")
            #expect(first.all("id") == Array(made[0..<2]) && first["count"] == "2")
            let next = try #require(first.string("next"))
            let second = try await apps.send("GET", "?limit=3&after=\(next)")
            #expect(second.all("id") == Array(made[2...]) && second["next"] == nil)
            for query in ["limit=0", "limit=1001", "limit=x", "after=x", "archived=yes", "sort=name"] {
                let name = query.prefix { $0 != "=" }
                #expect(
                    try await apps.send("GET", "?\(query)").isProblem(.invalidParameter, field: String(name)),
                    "\(query)")
            }
            for path in ["/absent", "/absent/keys", "/absent/versions", "/\(String(repeating: "a", count: 40))"] {
                #expect(try await apps.send("GET", path).isProblem(.appNotFound), "\(path)")
            }
            for (method, path) in [("PATCH", ""), ("POST", "/archive"), ("POST", "/restore")] {
                #expect(
                    try await apps.send(method, "/absent\(path)", "{}").isProblem(.appNotFound), "\(method) \(path)")
            }
        }
    }

    @Test func `staff see and do nothing beyond their rights`() async throws {
        try await StaffApps.run { apps in
            let (own, other) = (try await apps.make("Own"), try await apps.make("Other"))
            let reader = apps.member([own: [.applications: [.read]]])
            let keeper = apps.member([own: [.applications: [.read, .update]]])
            let stranger = apps.member([
                own: [.storage: Set(StaffAction.allCases)], "*": [.staff: Set(StaffAction.allCases)],
            ])
            #expect(try await reader.send("GET", "").all("id") == [own])
            #expect(try await stranger.send("GET", "").all("id") == [own])
            let everywhere = apps.member(["*": [.applications: [.read]]])
            #expect(try await everywhere.send("GET", "").all("id") == [own, other])

            let before = try await apps.state()
            for path in ["", "/keys", "/versions", "/icon", "/versions/1.0", "/versions/1.0/pictures/\(UUID())"] {
                #expect(try await reader.send("GET", "/\(own)\(path)").status != 403, "\(path)")
                for member in [reader, keeper] {
                    #expect(try await member.send("GET", "/\(other)\(path)").isProblem(.forbidden), "\(path)")
                }
                #expect(try await stranger.send("GET", "/\(own)\(path)").isProblem(.forbidden), "\(path)")
                #expect(
                    try await stranger.send("GET", "/absent\(path)").isProblem(.forbidden),
                    "the answer is the same for an unknown app")
            }
            let changes = [
                ("PATCH", "", #"{"name":"Mine"}"#), ("POST", "/archive", ""), ("POST", "/restore", ""),
                ("POST", "/lookup", ""),
                ("PUT", "/icon", "x"), ("DELETE", "/icon", ""), ("POST", "/versions", #"{"number":"1"}"#),
                ("PATCH", "/versions/1", "{}"),
                ("DELETE", "/versions/1", ""), ("POST", "/versions/1/pictures", "x"),
                ("PUT", "/versions/1/pictures", "{}"),
                ("DELETE", "/versions/1/pictures/\(UUID())", ""), ("POST", "/keys", #"{"kind":"secret"}"#),
                ("PATCH", "/keys/\(UUID())", "{}"),
                ("DELETE", "/keys/\(UUID())", ""), ("POST", "/keys/\(UUID())/rotate", "{}"),
            ]
            for (method, path, body) in changes {
                #expect(
                    try await reader.send(method, "/\(own)\(path)", body).isProblem(.forbidden), "\(method) \(path)")
                #expect(
                    try await keeper.send(method, "/\(other)\(path)", body).isProblem(.forbidden), "\(method) \(path)")
            }
            #expect(
                try await keeper.send("POST", "/\(own)/archive").isProblem(.forbidden),
                "archiving requires the right to delete")
            #expect(try await keeper.send("POST", "", #"{"name":"New"}"#).isProblem(.forbidden))
            #expect(
                try await apps.member([own: [.applications: [.create]]]).send("POST", "", #"{"name":"New"}"#).isProblem(
                    .forbidden))
            #expect(try await apps.state() == before)
            let client = Principal(kind: .master, appID: own, appNumber: 1, environment: .live, credentialID: "c")
            #expect(try await apps.auth.gateway.acting(as: client).get("/admin/apps/\(own)").isProblem(.forbidden))
            #expect(try await apps.auth.gateway.get("/admin/apps").isProblem(.forbidden))
        }
    }

    @Test
    func
        `a member finds the apps in which they have any right, and sees only the names of those they may not read`()
        async throws
    {
        try await StaffApps.run { apps in
            let (own, other) = (
                try await apps.make("Own", more: #","settings":{"team":"green"}"#), try await apps.make("Other")
            )
            let archived = try await apps.make("Old")
            #expect(try await apps.send("POST", "/\(archived)/archive").status == 200)
            let cases: [(rights: [String: StaffRights.Areas], listed: [String], readable: [String])] = [
                ([:], [], []), ([own: [:]], [], []),
                (["*": [.staff: [.read], .audit: [.read], .status: [.read]]], [], []),
                (["absent": [.tickets: [.read]]], [], []), ([own: [.tickets: [.create]]], [own], []),
                ([own: [.crashes: [.read]]], [own], []),
                ([own: [.applications: [.read]]], [own], [own]), ([own: [.applications: [.update]]], [own], []),
                ([own: [.applications: [.read]], other: [.storage: [.read]]], [own, other], [own]),
                (["*": [.languages: [.read]]], [own, other], []),
                (["*": [.languages: [.read]], other: [.applications: [.read]]], [own, other], [other]),
                (["*": [.applications: [.read]]], [own, other], [own, other]),
            ]
            for (rights, listed, readable) in cases {
                let member = apps.member(rights)
                let list = try await member.send("GET", "")
                #expect(
                    list.status == 200 && list.all("id") == listed && list["count"] == "\(listed.count)",
                    "\(rights): \(list)")
                for (index, id) in listed.enumerated() {
                    #expect(
                        list.string("data.\(index).name") == (id == own ? "Own" : "Other")
                            && list["data.\(index).archived"] == "null")
                    #expect((list["data.\(index).settings"] != nil) == readable.contains(id), "\(rights): \(list)")
                    // Properties that the list hides cannot be read by other routes either.
                    #expect((try await member.send("GET", "/\(id)").status == 200) == readable.contains(id))
                }
            }
            let member = apps.member([archived: [.tickets: [.read]], own: [.tickets: [.read]]])
            #expect(try await member.send("GET", "?archived=true").all("id") == [archived])
            let first = try await apps.member(["*": [.tickets: [.read]]]).send("GET", "?limit=1")
            #expect(first.all("id") == [own] && first.string("next") != nil, "\(first)")
        }
    }

    @Test func `staff who may create apps but lack other rights in them get no master key`() async throws {
        try await StaffApps.run { apps in
            let maker = apps.member([StaffRights.everyApp: [.applications: [.create, .read, .update]]])
            let made = try await maker.send("POST", "", #"{"name":"Shop"}"#)
            #expect(made.status == 201 && made.string("keys.secret") != nil && made["keys.masterKey"] == nil, "\(made)")
            let id = try #require(made.string("app.id"))
            let kinds = try await apps.send("GET", "/\(id)/keys").all("kind")
            #expect(kinds.count == 5 && !kinds.contains("master"), "\(kinds)")
            #expect(try await maker.send("POST", "/\(id)/keys", #"{"kind":"master"}"#).isProblem(.forbidden))
        }
    }

    @Test func `an icon's type is determined by its bytes, and other files are refused`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            #expect(try await apps.send("GET", "/\(id)/icon").isProblem(.pictureNotFound))
            for (bytes, type) in [
                (SamplePicture.png, "image/png"), (SamplePicture.jpeg, "image/jpeg"),
                (SamplePicture.webp, "image/webp"),
            ] {
                let set = try await apps.send(
                    "PUT", "/\(id)/icon", bytes: bytes, headers: ["content-type": "text/html"])
                #expect(
                    set.status == 200 && set.string("contentType") == type && set["sizeInBytes"] == "\(bytes.count)",
                    "\(set)")
                let icon = try await apps.send("GET", "/\(id)/icon")
                #expect(icon.header("content-type") == type && icon.header("x-content-type-options") == "nosniff")
                #expect(
                    icon.header("content-security-policy")?.contains("sandbox") == true
                        && icon.header("content-length") == "\(bytes.count)")
                let tag = try #require(icon.header("etag"))
                let known = try await apps.send("GET", "/\(id)/icon", bytes: nil, headers: ["if-none-match": tag])
                #expect(known.status == 304 && known.text.isEmpty)
                #expect(try await apps.send("GET", "/\(id)").string("icon.sha256").map { "\"\($0)\"" } == tag)
            }
            let before = try await apps.state()
            for bytes in [SamplePicture.gif, SamplePicture.svg, Array("hello".utf8), [], Array("<!doctype html>".utf8)]
            {
                #expect(
                    try await apps.send("PUT", "/\(id)/icon", bytes: bytes, headers: ["content-type": "image/png"])
                        .isProblem(.unsupportedMediaType))
            }
            let large = SamplePicture.png + [UInt8](repeating: 0, count: 1 << 20)
            #expect(try await apps.send("PUT", "/\(id)/icon", bytes: large).isProblem(.payloadTooLarge))
            #expect(try await apps.state() == before)
            #expect(try await apps.send("DELETE", "/\(id)/icon").status == 204)
            #expect(try await apps.send("DELETE", "/\(id)/icon").isProblem(.pictureNotFound))
            #expect(try await apps.audit().suffix(2) == ["ada set-icon b a", "ada delete-icon b -"])
        }
    }
}
