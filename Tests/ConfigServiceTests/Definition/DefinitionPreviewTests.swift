import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLogic
import MartletTesting
import Testing

@testable import ConfigService

/// Drafts of definitions on test devices.
@Suite struct DefinitionPreviewTests {
    private static func run(_ body: @Sendable (ConfigApp, _ link: String) async throws -> Void) async throws {
        try await ConfigApp.run { app in
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            let changed = try await app.master(
                "PATCH", "/config/definition/kick-in", DefinitionFixture.kickInChange, headers: ["if-match": "*"])
            try #require(changed.status == 200, "\(changed)")
            let made = try await app.master("POST", "/config/definition/kick-in/preview", #"{"hours":2}"#)
            try #require(made.status == 200 && made.header("cache-control") == "no-store", "\(made)")
            let expires = try #require(made["expires"].flatMap { Date(rfc3339: $0.filter { $0 != "\"" }) })
            #expect(abs(expires.timeIntervalSinceNow - 7_200) < 60)
            try await body(app, try #require(made["manifest"]).filter { $0 != "\"" })
        }
    }

    @Test func `A link shows the current draft, which cannot be mistaken for a published version`()
        async throws
    {
        try await Self.run { app, link in
            let answer = try await app.client("GET", link)
            #expect(answer.status == 200 && answer.header("cache-control") == "no-store", "\(answer)")
            let keys = try await DefinitionDownload.keys(of: app)
            let signed = try SignedManifest(json: Data(answer.text.utf8))
            let manifest = try signed.verified(
                name: "kick-in", environment: "live-preview", latest: nil, isSigned: keys.isSigned)
            #expect(manifest.version == 2 && manifest.content == 2)
            #expect(throws: SignedManifest.Failure.notThisApp) {
                try signed.verified(name: "kick-in", environment: "live", latest: 1, isSigned: keys.isSigned)
            }
            let part = try #require(manifest.parts.first { $0.path == "views/EventDetailView" })
            let token = link.split(separator: "?")[1]
            let path = "/definitions/kick-in/parts/\(part.sha256)"
            #expect(try await app.client("GET", path + "?" + token).text.contains("image_url"))
            #expect(try await app.client("GET", path).isProblem(.documentNotFound), "only with the link")
            #expect(
                try await app.client("GET", "/definitions/kick-in/manifest")["manifest.version"] == "1",
                "others see what is published")

            try #require(
                try await app.master(
                    "PATCH", "/config/definition/kick-in", #"{"name":"Kick-In 3"}"#, headers: ["if-match": "*"]
                ).status == 200)
            let next = try SignedManifest(json: Data(try await app.client("GET", link).text.utf8)).manifest
            #expect(next.parts.first != manifest.parts.first && next.parts.dropFirst() == manifest.parts.dropFirst())
            let broken = try await app.master(
                "PATCH", "/config/definition/kick-in", #"{"root_controller":"Nobody"}"#, headers: ["if-match": "*"])
            try #require(broken.status == 200)
            let refused = try await app.client("GET", link)
            #expect(
                refused.isProblem(.documentRefused) && refused["findings.0.path"] == #""/root_controller""#,
                "\(refused)")
        }
    }

    @Test func `A link opens only its own draft, for a limited time, and only editors create links`() async throws {
        try await Self.run { app, link in
            try await app.publish(.definition, "other", DefinitionFixture.kickIn)
            var (foreign, test) = (app, app)
            (foreign.appID, test.environment) = ("app2", .test)
            try await foreign.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            try await test.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            for refused in [
                try await app.client("GET", link.replacing("kick-in", with: "other")),
                try await foreign.client("GET", link), try await test.client("GET", link),
                try await app.client("GET", String(link.dropLast())),
                try await app.client("GET", link.replacing("preview=0", with: "preview=1")),
                try await app.client("GET", "/definitions/kick-in/manifest?preview="),
            ] { #expect(refused.isProblem(.documentNotFound), "\(refused)") }
            let token = Substring(link.split(separator: "=")[1])
            func open(after seconds: TimeInterval) async throws {
                let previews = DefinitionPreviews(
                    internalSecret: ConfigApp.internalSecret, store: app.service.previews.store,
                    documents: app.service.documents, live: app.service.live,
                    now: { Date().addingTimeInterval(seconds) })
                _ = try await previews.draft(of: "kick-in", in: app.space, by: token)
            }
            try await open(after: 7_000)
            await #expect(throws: ServiceError.self) { try await open(after: 7_300) }

            let path = "/config/definition/kick-in/preview"
            #expect(try await app.client("POST", path).isProblem(.forbidden))
            #expect(
                try await app.staff("POST", path, rights: StaffRights(["app1": [.config: [.read]]])).isProblem(
                    .forbidden))
            #expect(try await app.master("POST", path, #"{"hours":169}"#).isProblem(.invalidBody, field: "hours"))
            #expect(try await app.master("POST", "/config/definition/nobody/preview").isProblem(.documentNotFound))
            #expect(try await app.master("POST", "/config/flags/default/preview").isProblem(.notFound))
            try #require(
                try await app.master("DELETE", "/config/definition/kick-in", headers: ["if-match": "*"]).status == 204)
            #expect(try await app.client("GET", link).isProblem(.documentNotFound), "the preview ends with the draft")
            try #require(try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn).status == 200)
            #expect(
                try await app.client("GET", link).isProblem(.documentNotFound),
                "another definition with its name has its own previews")
        }
    }

    @Test func `Open previews are listed without their secrets, and a revoked link shows nothing`()
        async throws
    {
        try await Self.run { app, link in
            let path = "/config/definition/kick-in/preview"
            let other = try await app.master("POST", path)
            let (id, manifest) = (
                try #require(other["id"]).filter { $0 != "\"" }, try #require(other["manifest"]).filter { $0 != "\"" }
            )
            let list = try await app.master("GET", path)
            #expect(
                list["count"] == "2" && list["data.0.id"] == other["id"] && list["data.0.expires"] != nil, "\(list)")
            #expect(
                list["data.0.author"]?.hasPrefix(#""key:"#) == true
                    && !list.text.contains(manifest.split(separator: ".").last ?? ""), "\(list)")
            #expect(try await app.client("GET", manifest).status == 200)

            let mayRead = StaffRights(["app1": [.config: [.read]]])
            #expect(try await app.staff("GET", path, rights: mayRead).status == 200)
            var (foreign, test) = (app, app)
            (foreign.appID, test.environment) = ("app2", .test)
            for refused in [
                try await app.client("DELETE", path + "/" + id),
                try await app.staff("DELETE", path + "/" + id, rights: mayRead),
                try await foreign.master("DELETE", path + "/" + id), try await test.master("DELETE", path + "/" + id),
                try await app.master("DELETE", "/config/definition/other/preview/" + id),
                try await app.master("DELETE", path + "/x"),
                try await app.client("GET", path), try await app.master("GET", "/config/flags/default/preview"),
            ] { #expect([403, 404].contains(refused.status), "\(refused)") }
            #expect(try await app.client("GET", manifest).status == 200, "nobody revoked it")

            #expect(try await app.master("DELETE", path + "/" + id).status == 204)
            #expect(try await app.client("GET", manifest).isProblem(.documentNotFound))
            #expect(try await app.client("GET", link).status == 200, "the other link still works")
            #expect(try await app.master("DELETE", path + "/" + id).isProblem(.documentNotFound))
            #expect(try await app.master("GET", path)["count"] == "1")
        }
    }

    @Test func `The number of open previews is limited, and expired ones do not count`() async throws {
        try await Self.run { app, _ in
            let (store, key) = (app.service.previews.store, DocumentKey(.definition, "kick-in"))
            func add(until end: Date) async throws {
                _ = try await store.add(key, in: app.space, until: end, by: .service)
            }
            for _ in 1..<PreviewStore.maximumCount { try await add(until: Date().addingTimeInterval(3_600)) }
            #expect(try await app.master("POST", "/config/definition/kick-in/preview").isProblem(.limitExceeded))
            let first = try await store.list(key, in: app.space).first.map { try JSONValue(parsing: $0.utf8) }
            guard case .string(let text)? = first?["id"], let id = UUID(uuidString: text) else {
                throw ConfigApp.Away()
            }
            #expect(try await store.revoke(id, of: key, in: app.space))
            try await add(until: Date().addingTimeInterval(-1))
            try await add(until: Date().addingTimeInterval(3_600))
            #expect(try await app.master("GET", "/config/definition/kick-in/preview")["count"] == "50")
        }
    }
}
