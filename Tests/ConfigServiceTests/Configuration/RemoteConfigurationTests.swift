import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import ConfigService

/// Configurations as clients get them.
@Suite struct RemoteConfigurationTests {
    private static let light = """
        {"version":"2.4.2.2","languagesList":["en"],"mainSettings":{"url":"www.dit.ie","size":1.0},"colors":[{"name":"nav","red":200,"green":0,"blue":0,"alpha":1}],
        "controllers":[{"name":"Days","classProperties":{"backgroundColor":"nav"},"objectsList":[
        {"objectName":"className","objectType":"UILabel","objectProperties":{"text":"Class","isHidden":false}}]}]}
        """

    @Test func `an app gets the configuration of its version and theme, and 304 while it is current`()
        async throws
    {
        try await ConfigApp.run { app in
            try #require(await app.publish(.configuration, "2.4.2~Light", Self.light).status == 200)
            try #require(
                await app.publish(.configuration, "2.4.2~Dark", #"{"theme":"Dark","mainSettings":{"dark":true}}"#)
                    .status == 200)
            let answer = try await app.client("GET", "/remote/2.4.2/Light")
            #expect(answer.status == 200)
            #expect(
                answer["config.version"] == #""2.4.2.2""# && answer["version"] == #""2.4.2.2""#
                    && answer["number"] == "1")
            #expect(
                answer["theme"] == #""Light""# && answer["live"] == "true" && answer["themes"] == #"["Dark","Light"]"#)
            #expect(answer["mainSettings.size"] == "1.0", "numbers keep their digits")
            #expect(
                answer["colors.0.red"] == "200"
                    && answer["controllers.0.objectsList.0.objectProperties.text"] == #""Class""#)
            #expect(answer["experiments"] == "{}" && answer["catalogue"] == nil && answer["overrides"] == nil)
            let tag = try #require(answer.header("etag"))
            #expect(
                answer.header("cache-control") == "private, no-cache"
                    && answer.header("vary") == "Authorization, X-Device-Id, Accept-Encoding")
            let again = try await app.client("GET", "/remote/2.4.2/Light", headers: ["if-none-match": tag])
            #expect(again.status == 304 && again.text.isEmpty && again.header("etag") == tag)
            #expect(try await app.client("GET", "/remote/2.4.2/Dark")["mainSettings"] == #"{"dark":true}"#)

            try #require(
                await app.publish(.configuration, "2.4.2~Light", Self.light.replacing("Class", with: "Lecture")).status
                    == 200)
            let changed = try await app.client("GET", "/remote/2.4.2/Light", headers: ["if-none-match": tag])
            #expect(
                changed.status == 200 && changed["number"] == "2"
                    && changed["controllers.0.objectsList.0.objectProperties.text"] == #""Lecture""#)
            #expect(
                try await app.client("POST", "/remote", #"{"appVersion":"2.4.2","theme":"Light"}"#).text
                    == changed.text, "GET and POST give the same answer")
        }
    }

    /// App version, theme, and the name of the configuration returned; nil for none.
    private static let fallbacks: [(String, String?, String?)] = [
        ("1.0", nil, nil), ("1.0", "Dark", nil), ("2", nil, "2.0~Light"), ("2.0.0", "Light", "2.0~Light"),
        ("2.0.5", "Dark", "2.0~Dark"),
        ("2.1", nil, "2.1"), ("2.1", "Dark", "2.0~Dark"), ("2.1", "Sepia", nil), ("2.9.9", nil, "2.1"),
        ("3.0-beta.1", nil, "2.1"),
        ("3.0", nil, "3.0~Dark"), ("10.0", "Dark", "3.0~Dark"), ("10.0", nil, "3.0~Dark"),
    ]

    @Test func `an app version without a configuration gets that of the newest version below it`() async throws {
        try await ConfigApp.run { app in
            for name in ["2.0~Light", "2.0~Dark", "2.0~Zen", "2.1", "3.0~Dark", "3.0~Exotic"] {
                try #require(
                    await app.publish(.configuration, name, #"{"mainSettings":{"is":"\#(name)"}}"#).status == 200)
            }
            for (version, theme, expected) in Self.fallbacks {
                let answer = try await app.client("GET", "/remote/\(version)" + (theme.map { "/" + $0 } ?? ""))
                if let expected {
                    #expect(answer["mainSettings.is"] == "\"\(expected)\"", "\(version) \(theme ?? "-"): \(answer)")
                } else {
                    #expect(answer.isProblem(.documentNotFound), "\(version) \(theme ?? "-"): \(answer)")
                }
            }
        }
    }

    @Test func `an override applies by user, device, attribute, platform and version`() async throws {
        try await ConfigApp.run { app in
            let overrides = #"""
                [{"name":"staff","when":{"userId":"u1"},"patch":{"mainSettings":{"menu":"staff"}}},
                {"when":{"plan":"premium"},"patch":{"controllers":{"Days":{"objects":{"className":{"isHidden":true,"text":null}}}}}},
                {"when":{"brand":"acme"},"patch":{"colors":{"nav":{"red":1.50}},"languagesList":["de"]}},
                {"when":{"platform":"android","osVersion":{"$vgte":"14.0"}},"patch":{"mainSettings":{"menu":"drawer"}}},
                {"when":{"deviceId":"d1","isSignedIn":false},"patch":{"mainSettings":{"tester":true}}}]
                """#
            let published = try await app.publish(
                .configuration, "1.0", Self.light.dropLast() + ",\"overrides\":" + overrides + "}")
            try #require(published.status == 200, "\(published)")
            let plain = try await app.client("GET", "/remote/1.0")
            #expect(plain["mainSettings.menu"] == nil && plain["colors.0.red"] == "200")
            #expect(try await app.client("GET", "/remote/1.0", user: "u1")["mainSettings.menu"] == #""staff""#)
            #expect(
                try await app.client("POST", "/remote", #"{"appVersion":"1.0","attributes":{"userId":"u1"}}"#).text
                    == plain.text, "attributes cannot claim a user's id")
            let premium = try await app.client(
                "POST", "/remote", #"{"appVersion":"1.0","attributes":{"plan":"premium"}}"#)
            #expect(premium["controllers.0.objectsList.0.objectProperties"] == #"{"isHidden":true}"#)
            let acme = try await app.client(
                "POST", "/remote", #"{"appVersion":"1.0","attributes":{"brand":"acme","plan":"premium"}}"#)
            #expect(
                acme["colors.0.red"] == "1.50" && acme["languagesList"] == #"["de"]"#
                    && acme["controllers.0.objectsList.0.objectProperties.isHidden"] == "true")
            #expect(
                try await app.client("GET", "/remote/1.0?platform=android&osVersion=14.1")["mainSettings.menu"]
                    == #""drawer""#)
            #expect(try await app.client("GET", "/remote/1.0?platform=android&osVersion=9.0").text == plain.text)
            #expect(
                try await app.client("GET", "/remote/1.0", headers: ["x-device-id": "d1"])["mainSettings.tester"]
                    == "true")
            #expect(
                try await app.client("GET", "/remote/1.0", user: "u2", headers: ["x-device-id": "d1"]).text
                    == plain.text)
            #expect(
                Set([plain, premium, acme].map { $0.header("etag") }).count == 3
                    && Set([plain, premium, acme].map { $0["hash"] }).count == 3)
        }
    }

    private static let invalidRequests: [(String, String, String?, ErrorCode, String?)] = [
        ("GET", "/remote/one", nil, .invalidParameter, "appVersion"),
        ("GET", "/remote/1.0?language=", nil, .invalidParameter, "language"),
        ("GET", "/remote/1.0?plan=x", nil, .invalidParameter, "plan"),
        ("GET", "/remote/1.0", nil, .documentNotFound, nil),
        ("POST", "/remote", "{}", .invalidBody, "appVersion"),
        ("POST", "/remote", #"{"appVersion":7}"#, .invalidBody, "appVersion"),
        ("POST", "/remote", #"{"appVersion":"1.0","attributes":[]}"#, .invalidBody, "attributes"),
        ("POST", "/remote", #"{"appVersion":"1.0","plan":"x"}"#, .invalidBody, "plan"),
        ("POST", "/remote", #"{"appVersion":"1.0","live":true}"#, .invalidBody, "live"),
        ("POST", "/remote", "[", .invalidJSON, nil),
        ("POST", "/remote", #"{"appVersion":"1.0","configuration":{}}"#, .forbidden, nil),
    ]

    @Test func `invalid requests are refused by field`() async throws {
        try await ConfigApp.run { app in
            for (method, path, body, code, field) in Self.invalidRequests {
                let answer = try await app.client(method, path, body)
                #expect(answer.isProblem(code, field: field), "\(method) \(path) \(body ?? ""): \(answer)")
            }
            let answer = try await app.client(
                "GET", "/remote/1.0", headers: ["x-device-id": String(repeating: "d", count: 129)])
            #expect(answer.isProblem(.invalidParameter, field: "X-Device-Id"), "\(answer)")
        }
    }

    @Test func `a configuration is uploaded and published in one call, or kept as a draft`() async throws {
        try await ConfigApp.run { app in
            let held = try await app.master(
                "POST", "/remote",
                #"{"appVersion":"1.0","theme":"Dark","live":false,"configuration":{"mainSettings":{"a":1.0}}}"#)
            #expect(held.status == 201 && held["live"] == "false", "\(held)")
            #expect(try await app.client("GET", "/remote/1.0/Dark").isProblem(.documentNotFound))
            let bad = try await app.master(
                "POST", "/remote", #"{"appVersion":"1.0","theme":"Dark","configuration":{"colors":[{"name":"x"}]}}"#)
            #expect(bad.isProblem(.documentRefused) && bad["findings.0.path"] == #""/colors/0/red""#, "\(bad)")
            #expect(
                try await app.master("GET", "/config/configuration/1.0~Dark").text == #"{"mainSettings":{"a":1.0}}"#,
                "nothing was written")
            let live = try await app.master(
                "POST", "/remote",
                #"{"appVersion":"1.0","theme":"Dark","note":"first","configuration":{"mainSettings":{"a":2.50}}}"#)
            #expect(
                live.status == 201 && live["version.version"] == "1" && live["version.note"] == #""first""#, "\(live)")
            #expect(try await app.client("GET", "/remote/1.0/Dark")["mainSettings.a"] == "2.50")
        }
    }

    @Test func `a configuration's name must be an app version, with or without a theme`() async throws {
        try await ConfigApp.run { app in
            for name in ["live", "dark~x", "1.0~", "01.0"] {
                let answer = try await app.master(
                    "PUT", "/config/configuration/\(name)", "{}", headers: ["if-none-match": "*"])
                #expect(answer.isProblem(.invalidName), "\(name): \(answer)")
            }
        }
    }

    @Test func `the catalogue has the kinds of UIKit and SwiftUI, and is read with an entity tag`() async throws {
        try await ConfigApp.run { app in
            let answer = try await app.master("GET", "/config/catalogue")
            #expect(answer.status == 200 && answer["kinds.UILabel.properties.textAlignment.1"] == #""center""#)
            let tag = try #require(answer.header("etag"))
            #expect(try await app.master("GET", "/config/catalogue", headers: ["if-none-match": tag]).status == 304)
            #expect(try await app.client("GET", "/config/catalogue").isProblem(.forbidden))
            let frameworks = Dictionary(grouping: PropertyCatalogue.builtIn.kinds.values, by: \.framework).mapValues(
                \.count)
            #expect(frameworks["UIKit", default: 0] >= 20 && frameworks["SwiftUI", default: 0] >= 20, "\(frameworks)")
        }
    }

    @Test func `reads continue without PostgreSQL`() async throws {
        try await ConfigApp.run { app in
            try #require(await app.publish(.configuration, "1.0", Self.light).status == 200)
            let answer = try await app.client("GET", "/remote/1.0")
            try await app.database.superuserClient().execute("REVOKE USAGE ON SCHEMA config FROM martlet_config")
            let again = try await app.client("GET", "/remote/1.0", user: "u9")
            #expect(again.status == 200 && again.text == answer.text)
        }
    }
}
