import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import NotificationsService

struct AudienceTests {
    private static let installations = [
        TestInstallation(
            1, user: "u1", locale: "de-AT", appVersion: "1.9", channels: ["news"],
            attributes: #"{"plan":"pro","tags":["a","b"]}"#),
        TestInstallation(2, user: "u1", platform: "android", service: "fcm", locale: "en", appVersion: "1.10"),
        TestInstallation(
            3, user: "u2", platform: "web", service: "webpush", locale: "de", channels: ["news", "sport"]),
        TestInstallation(4, appVersion: "2.0", attributes: #"{"plan":"free"}"#),
        TestInstallation(5, user: "u3", hasToken: false),
        TestInstallation(6, user: "u3", attributes: #"{"liveActivity":"match-7"}"#),
    ]

    @Test(arguments: [
        (#"{"everyone":true}"#, [1, 2, 3, 4]), (#"{"users":["u1","u2"]}"#, [1, 2, 3]), (#"{"users":["u3"]}"#, []),
        (#"{"installations":["00000000-0000-4000-8000-000000000004"]}"#, [4]),
        (#"{"channels":["sport","chess"]}"#, [3]),
        (#"{"platforms":["ios"]}"#, [1, 4]), (#"{"channels":["news"],"platforms":["web"]}"#, [3]),
        (#"{"everyone":true,"except":{"users":["u1"]}}"#, [3, 4]), (#"{"where":{"language":"de"}}"#, [1, 3]),
        (#"{"where":{"country":"AT"}}"#, [1]),
        (#"{"where":{"appVersion":{"$vgte":"1.10"}}}"#, [2, 4]), (#"{"where":{"attributes.plan":"pro"}}"#, [1]),
        (#"{"where":{"attributes.tags":{"$elemMatch":{"$eq":"b"}}}}"#, [1]),
        (#"{"where":{"channels":{"$in":["sport"]}}}"#, [3]),
        (#"{"where":{"userId":{"$exists":false}}}"#, [4]), (#"{"segment":"germans","platforms":["ios"]}"#, [1]),
    ])
    func `an audience selects the devices that meet its criteria`(_ audience: String, _ numbers: [Int]) async throws {
        try await NotificationsApp.run { app in
            try await app.install(Self.installations)
            #expect(
                try await app.master(
                    "PUT", "/notifications/segments/germans", #"{"audience":{"where":{"language":"de"}}}"#
                ).status == 200)
            let id = try await app.order(#"{"content":{"body":"b"},"audience":\#(audience)}"#)
            let message = try await app.planned(id)
            #expect(try await app.deliveries(id).map(\.number) == numbers)
            #expect(message.planned == numbers.count && (!numbers.isEmpty || message.state == .sent))
            let preview = try await app.master(
                "POST", "/notifications/preview", #"{"content":{"body":"b"},"audience":\#(audience)}"#)
            #expect(preview["audience"] == #"{"count":\#(numbers.count),"isExact":true}"#)
        }
    }

    @Test func `an audience that could not be read again is not stored`() throws {
        func names(_ count: Int) -> [String] { (0..<count).map { "u\($0)" } }
        var audience = Audience(channels: ["news"], exceptUsers: names(Audience.maximumExceptUsers))
        #expect(try Audience(audience.json) == audience)
        try audience.check()
        audience.exceptUsers.append("one more")
        var refusal = #expect(throws: ServiceError.self) { try audience.check() }
        #expect(refusal?.code == .invalidBody && refusal?.field == "audience.except")
        audience = Audience(channels: names(Audience.maximumChannels + 1))
        refusal = #expect(throws: ServiceError.self) { try audience.check() }
        #expect(refusal?.field == "audience.channels")
        let pointers: [JSONValue] = ["", "\0", String(repeating: "x", count: 201), "ann"].map { id in
            .object([.init("__type", .string("Pointer")), .init("objectId", .string(id))])
        }
        #expect(RecipientLookUp.ids(pointers + [.string("ben"), .string(""), .null]) == ["ann", "ben"])
    }

    @Test func `a Live Activity is sent only where it was started, and nothing else is sent there`() async throws {
        try await NotificationsApp.run { app in
            try await app.install(Self.installations)
            let id = try await app.order(#"{"content":{"liveActivity":{"event":"end"}},"audience":{"everyone":true}}"#)
            try await app.planned(id)
            #expect(try await app.deliveries(id).map(\.number) == [6])
        }
    }

    @Test(arguments: [
        (#"{}"#, ErrorCode.invalidBody, "audience"), (#"{"everyone":false}"#, .invalidBody, "audience"),
        (#"{"users":[]}"#, .invalidBody, "audience.users"),
        (#"{"users":[""]}"#, .invalidBody, "audience.users"),
        (#"{"installations":["1"]}"#, .invalidBody, "audience.installations"),
        (#"{"platforms":["amiga"]}"#, .invalidBody, "audience.platforms"),
        (#"{"where":{"a":{"$near":1}}}"#, .invalidFilter, "audience.where"),
        (#"{"where":{"user.roles":{"$in":["a"]}}}"#, .invalidFilter, "audience.where"),
        (#"{"segment":"gone"}"#, .segmentNotFound, "audience.segment"),
        (#"{"everyone":true,"only":1}"#, .invalidBody, "audience.only"),
        (#"{"everyone":true,"except":{"channels":["a"]}}"#, .invalidBody, "audience.except.channels"),
    ])
    func `an invalid audience is refused, and nothing is written`(
        _ audience: String, _ code: ErrorCode, _ field: String
    ) async throws {
        try await NotificationsApp.run { app in
            let answer = try await app.master(
                "POST", "/notifications/messages", #"{"content":{"body":"b"},"audience":\#(audience)}"#)
            #expect(answer.isProblem(code, field: field), "\(answer)")
            #expect(try await app.count("messages") == 0)
            #expect(try await app.count("jobs") == 0)
        }
    }
}
