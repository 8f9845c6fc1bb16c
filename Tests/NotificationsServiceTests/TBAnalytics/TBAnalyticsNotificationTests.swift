import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// `POST …/notification` and `GET …/storage/TBNotification` in the original TBAnalytics format.
struct TBAnalyticsNotificationTests {
    private static let ada = "0193a000-0000-7000-8000-0000000000aa"
    private static let bob = "0193a000-0000-7000-8000-0000000000bb"

    @Test func `The app's server sends to a user, and to devices by id and by token, and reads it all back`()
        async throws
    {
        try await NotificationsApp.run { app in
            try await app.install([
                TestInstallation(1, user: Self.bob), TestInstallation(2, user: "11"), TestInstallation(3),
            ])
            let sent = try await app.master(
                "POST", "/thesis/notification", #"{"userID":11,"title":"test","message":"hello","badge":3}"#)
            #expect(
                sent.status == 201 && sent["userID"] == "11" && sent["message"] == "\"hello\""
                    && sent["_version"] == "1", "\(sent)")
            let id = try #require(sent["_id"].flatMap { UUID(uuidString: $0.filter { $0 != "\"" }) })
            #expect(try await app.deliveries(id).map(\.number) == [2])
            let message = try await app.message(id)
            #expect(
                message.content.texts == MessageTexts(title: "test", body: "hello")
                    && message.content.badge == .number(3))

            let device = #"{"deviceID":["\#(TestInstallation.id(1))","token-3"],"message":"devices"}"#
            let devices = try await app.master("POST", "/thesis/notification", device)
            let second = try #require(devices["_id"].flatMap { UUID(uuidString: $0.filter { $0 != "\"" }) })
            #expect(try await app.deliveries(second).map(\.number) == [1, 3])

            let list = try await app.master("GET", "/thesis/notifications")
            #expect(
                list["count"] == "2" && list["data.1.userID"] == "\"11\"" && list["data.1.title"] == "\"test\""
                    && list["data.1.badge"] == "3", "\(list)")
            #expect(list["data.0.message"] == "\"devices\"" && list["data.0.deviceID.1"] != nil)
            let page = try await app.master("GET", "/thesis/notifications?limit=1")
            let next = try #require(page["next"]).filter { $0 != "\"" }
            #expect(
                try await app.master("GET", "/thesis/notifications?limit=1&cursor=\(next)")["data.0.title"]
                    == "\"test\"")
            #expect(try await app.client("GET", "/thesis/notifications", user: Self.ada).isProblem(.forbidden))
        }
    }

    @Test func `The same _id sends once`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: Self.bob)])
            for _ in 0..<2 {
                let answer = try await app.master(
                    "POST", "/thesis/notification", #"{"_id":"n1","userId":"\#(Self.bob)","message":"hello"}"#)
                #expect(answer.status == 201 && answer["_id"] == "\"n1\"", "\(answer)")
            }
            #expect(try await app.count("messages") == 1)
            #expect(try await app.count("deliveries") == 1)
        }
    }

    @Test func `The same _id gets the same answer, even after the device is gone and the rules have changed`()
        async throws
    {
        try await NotificationsApp.runWithStorage { app, _ in
            try await app.install([TestInstallation(1, user: Self.bob)])
            let device = #"{"_id":"n1","device":"token-1","message":"hello"}"#
            #expect(try await app.master("POST", "/thesis/notification", device).status == 201)
            _ = try await app.master(
                "PUT", "/notifications/templates/TBNotification", #"{"content":{"body":"{{message}}"}}"#)
            _ = try await app.master(
                "PUT", "/notifications/client-rules",
                #"{"templates":{"TBNotification":{"limit":{"count":1,"seconds":3600}}}}"#)
            let body = #"{"_id":"n2","user":"\#(Self.bob)","message":"hello"}"#
            let first = try await app.client("POST", "/thesis/notification", body, user: Self.ada)
            #expect(first.status == 201, "\(first)")

            #expect(
                try await app.master("DELETE", "/notifications/installations/\(TestInstallation.id(1))").status == 204)
            #expect(try await app.master("PUT", "/notifications/client-rules", #"{"templates":{}}"#).status == 200)
            #expect(try await app.master("DELETE", "/notifications/templates/TBNotification").status < 300)
            #expect(try await app.master("POST", "/thesis/notification", device).status == 201)
            let again = try await app.client("POST", "/thesis/notification", body, user: Self.ada)
            #expect(again.status == 201 && again["created"] == first["created"], "\(again)")
            #expect(try await app.count("messages") == 2)
            // For a different sender it is a different notification.
            #expect(try await app.client("POST", "/thesis/notification", body, user: Self.bob).isProblem(.forbidden))
        }
    }

    @Test func `A user sends only as the app's rules allow, with the template's text`() async throws {
        try await NotificationsApp.runWithStorage { app, _ in
            try await app.install([TestInstallation(1, user: Self.bob)])
            let body = #"{"user":"\#(Self.bob)","title":"Hi","message":"hello","badge":1}"#
            #expect(try await app.client("POST", "/thesis/notification", body, user: Self.ada).isProblem(.forbidden))
            #expect(try await app.client("POST", "/thesis/notification", body).isProblem(.forbidden))

            let template = #"{"content":{"title":"From a friend: {{title}}","body":"{{message}}"}}"#
            let put = try await app.master("PUT", "/notifications/templates/TBNotification", template)
            #expect(put.status == 200 || put.status == 201, "\(put)")
            let rules = try await app.master(
                "PUT", "/notifications/client-rules",
                #"{"templates":{"TBNotification":{"limit":{"count":2,"seconds":3600}}}}"#)
            #expect(rules.status == 200, "\(rules)")
            let sent = try await app.client("POST", "/thesis/notification", body, user: Self.ada)
            #expect(sent.status == 201, "\(sent)")
            let list = try await app.master("GET", "/thesis/notifications")
            #expect(list["data.0.title"] == "\"From a friend: Hi\"" && list["data.0.message"] == "\"hello\"", "\(list)")

            #expect(try await app.client("POST", "/thesis/notification", body).isProblem(.forbidden))
            let device = #"{"device":"\#(TestInstallation.id(1))","message":"hello"}"#
            #expect(try await app.client("POST", "/thesis/notification", device, user: Self.ada).isProblem(.forbidden))
            let two = #"{"user":["\#(Self.bob)","\#(Self.ada)"],"title":"Hi","message":"hello"}"#
            #expect(try await app.client("POST", "/thesis/notification", two, user: Self.ada).isProblem(.forbidden))
            #expect(try await app.client("POST", "/thesis/notification", body, user: Self.ada).status == 201)
            #expect(
                try await app.client("POST", "/thesis/notification", body, user: Self.ada).isProblem(.tooManyRequests))
            #expect(try await app.count("messages") == 2)
        }
    }

    private static let refusals = [
        (#"{"message":"hello"}"#, ErrorCode.invalidBody, "userID"),
        (#"{"userID":11,"deviceID":"x","message":"hello"}"#, .invalidBody, "userID"),
        (#"{"userID":11}"#, .invalidBody, "message"), (#"{"userID":{},"message":"hello"}"#, .invalidBody, "userID"),
        (#"{"userID":[],"message":"hello"}"#, .invalidBody, "userID"),
        (#"{"userID":11,"message":"hello","badge":-1}"#, .invalidBody, "badge"),
        (#"{"userID":11,"message":"hello","sound":"x"}"#, .invalidBody, "sound"),
        (#"{"deviceID":"nobody's","message":"hello"}"#, .installationNotFound, "deviceID"),
        (#"{"userID":11,"message":7}"#, .invalidBody, "message"),
    ]

    @Test func `Invalid notifications are refused, and nothing is written`() async throws {
        try await NotificationsApp.run { app in
            for (body, code, field) in Self.refusals {
                let answer = try await app.master("POST", "/thesis/notification", body)
                #expect(answer.isProblem(code, field: field), "\(body): \(answer)")
            }
            #expect(try await app.master("POST", "/thesis/notification", "[1").isProblem(.invalidJSON))
            #expect(try await app.count("messages") == 0)
        }
    }
}
