import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush
import MartletPushSimulator
import MartletTesting
import Testing

@testable import NotificationsService

@Suite struct TestCredentialTests {
    @Test func `development and production devices of one app are reached in their own environments`() async throws {
        try await PushServices.with { services, options in
            try await NotificationsApp.run(options) { app in
                // Keys that Apple issued for one environment each.
                let team = SimulatedKey.identifier()
                let (key, sandboxKey) = (
                    SimulatedKey(teamID: team, topics: ["com.example.app"]), SimulatedKey(teamID: team)
                )
                services.production.trust(key)
                services.sandbox.trust(sandboxKey)
                let more = #","sandbox":{"key":\#(JSONValue.quote(sandboxKey.pem)),"keyId":"\#(sandboxKey.keyID)"}"#
                _ = try await app.master(
                    "PUT", "/notifications/credentials/apns", NotificationsApp.json(key, more: more))
                let (developer, customer) = (TestDevice(), TestDevice())
                let (developerToken, customerToken) = (TestDevice.token(), TestDevice.token())
                #expect(
                    try await app.ask("PUT", developer, TestDevice.ios(developerToken, sandbox: true)).status == 201)
                #expect(try await app.ask("PUT", customer, TestDevice.ios(customerToken)).status == 201)
                for device in [developer, customer] {
                    let answer = try await app.master(
                        "POST", "/notifications/credentials/apns/test",
                        #"{"installation":"\#(device.id)","title":"Hello"}"#)
                    #expect(
                        answer.status == 200 && answer["outcome"] == "\"accepted\"" && answer["id"] != nil, "\(answer)")
                }
                #expect(
                    services.sandbox.requests.map(\.device) == [developerToken]
                        && services.production.requests.map(\.device) == [customerToken])
                let request = try #require(services.production.requests.first)
                #expect(
                    request.headers["apns-topic"] == "com.example.app" && request.headers["apns-push-type"] == "alert"
                        && request.text.contains("Hello"))

                // The same device with the app from the store: another token, for the other environment.
                #expect(try await app.ask("PUT", developer, TestDevice.ios(sandbox: false)).status == 200)
                _ = try await app.master(
                    "POST", "/notifications/credentials/apns/test", #"{"installation":"\#(developer.id)"}"#)
                #expect(services.sandbox.requestCount == 1 && services.production.requestCount == 2)
            }
        }
    }

    @Test func `the push service's answer is returned, and its verdict on the credential is stored`() async throws {
        try await PushServices.with { services, options in
            try await NotificationsApp.run(options) { app in
                let (key, token) = (SimulatedKey(), TestDevice.token())
                let path = "/notifications/credentials/apns"
                let test = #"{"push":{"service":"apns","token":"\#(token)","sandbox":true}}"#
                #expect(try await app.master("POST", path + "/test", test).isProblem(.credentialNotFound))
                _ = try await app.master("PUT", path, NotificationsApp.json(key))
                let unknown = try await app.master("POST", path + "/test", test)
                #expect(
                    unknown.status == 200 && unknown["outcome"] == "\"failed\""
                        && unknown["meaning"] == "\"credentialBroken\"", "\(unknown)")
                #expect(unknown["status"] == "403" && unknown["reason"] == "\"InvalidProviderToken\"")
                #expect(try await app.master("GET", path)["broken.reason"] == "\"InvalidProviderToken\"")

                // The problem is fixed at Apple, and the test is repeated.
                services.sandbox.trust(key)
                #expect(try await app.master("POST", path + "/test", test)["outcome"] == "\"accepted\"")
                #expect(try await app.master("GET", path)["broken"] == "null")

                let device = TestDevice()
                try await app.ask("PUT", device, TestDevice.ios(token, sandbox: true))
                services.sandbox.set(token, .unregistered(since: Date()))
                let gone = try await app.master("POST", path + "/test", #"{"installation":"\#(device.id)"}"#)
                #expect(
                    gone["meaning"] == "\"deviceGone\"" && gone["reason"] == "\"Unregistered\""
                        && gone["status"] == "410", "\(gone)")
                #expect(try await app.ask("GET", device)["push.service"] == "\"apns\"", "a test forgets no token")
            }
        }
    }

    @Test func `Android devices and browsers can be tested, too`() async throws {
        try await PushServices.with { services, options in
            try await NotificationsApp.run(options) { app in
                let account = try services.fcm.serviceAccount().withValue { $0 }
                _ = try await app.master("PUT", "/notifications/credentials/fcm", #"{"serviceAccount":\#(account)}"#)
                let phone = TestDevice()
                try await app.ask("PUT", phone, #"{"platform":"android","push":{"service":"fcm","token":"token-1"}}"#)
                let first = try await app.master(
                    "POST", "/notifications/credentials/fcm/test", #"{"installation":"\#(phone.id)"}"#)
                #expect(first["outcome"] == "\"accepted\"" && services.fcm.deliveries(to: "token-1") == 1, "\(first)")
                services.fcm.answer("token-1", status: 404, code: "UNREGISTERED")
                let second = try await app.master(
                    "POST", "/notifications/credentials/fcm/test", #"{"installation":"\#(phone.id)"}"#)
                #expect(
                    second["meaning"] == "\"deviceGone\"" && services.fcm.tokenRequests == 1,
                    "one client with one access token: \(second)")

                _ = try await app.master(
                    "PUT", "/notifications/credentials/webpush", #"{"subject":"mailto:push@example.com"}"#)
                let (page, browser) = (TestDevice(), services.webPush.subscribe())
                let subscription =
                    #"{"endpoint":"\#(browser.endpoint)","expirationTime":null,"keys":{"p256dh":"\#(browser.publicKey)","auth":"\#(browser.authenticationSecret)"}}"#
                let put = try await app.ask(
                    "PUT", page, #"{"platform":"web","push":{"service":"webpush","subscription":\#(subscription)}}"#)
                #expect(put.status == 201 && put["push.token"] == "\"127.0.0.1/…\"", "\(put)")
                let answer = try await app.master(
                    "POST", "/notifications/credentials/webpush/test", #"{"installation":"\#(page.id)","body":"Hello"}"#
                )
                #expect(answer["outcome"] == "\"accepted\"", "\(answer)")
                #expect(services.webPush.messages(of: browser).map(\.text) == [#"{"title":"Test","body":"Hello"}"#])
            }
        }
    }

    @Test func `a test needs a device of this service and this app`() async throws {
        try await NotificationsApp.run { app in
            _ = try await app.master("PUT", "/notifications/credentials/apns", NotificationsApp.json(SimulatedKey()))
            let (silent, phone) = (TestDevice(), TestDevice())
            try await app.ask("PUT", silent, #"{"platform":"ios"}"#)
            try await app.ask("PUT", phone, #"{"platform":"android","push":{"service":"fcm","token":"t"}}"#)
            let push = #"{"service":"apns","token":"00ff","sandbox":true,"bundleId":"other.app"}"#
            let cases: [(String, ErrorCode, String?)] = [
                ("{}", .invalidBody, "installation"), (#"{"installation":"x"}"#, .invalidBody, "installation"),
                (#"{"installation":"\#(silent.id)","push":\#(push)}"#, .invalidBody, "installation"),
                (#"{"installation":"\#(silent.id)"}"#, .invalidBody, "installation"),
                (#"{"installation":"\#(phone.id)"}"#, .invalidBody, "installation"),
                (#"{"installation":"\#(UUID())"}"#, .installationNotFound, nil),
                (#"{"push":{"service":"fcm","token":"t"}}"#, .invalidBody, "push.service"),
                (#"{"push":{"service":"apns","token":"0"}}"#, .invalidBody, "push.token"),
                (#"{"push":\#(push)}"#, .invalidBody, "push.bundleId"),
                (#"{"push":\#(push),"title":"\#(String(repeating: "x", count: 201))"}"#, .invalidBody, "title"),
            ]
            for (body, code, field) in cases {
                let answer = try await app.master("POST", "/notifications/credentials/apns/test", body)
                #expect(answer.isProblem(code, field: field), "\(body): \(answer)")
            }
            let unknown = try await app.master("POST", "/notifications/credentials/fax/test", "{}")
            #expect(unknown.isProblem(.credentialNotFound), "\(unknown)")
        }
    }
}
